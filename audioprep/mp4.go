package audioprep

import (
	"fmt"
	"io"
)

// An MP4 file is a tree of boxes: a size, four letters, and a body that may be boxes
// again. "moov" is the index: tracks ("trak"), each with a table of where its samples
// (here: packets) stand. They stand in "mdat", in chunks that take turns with those of
// other tracks. A recorder that can't go back to write an index writes fragments, each a
// small index ("moof") and its data. M4A, MOV and 3GP are the same with other codecs.
//
// ISO/IEC 14496-12 (ISO base media file format), ISO/IEC 14496-14 (MP4), QuickTime File
// Format Specification (Apple, 2001).

// mp4File is what the walk over the upload's outermost boxes found.
type mp4File struct {
	in        *input
	s         *sink
	tracks    []*mp4Track
	timescale int64  // of edit durations, per second
	hasIndex  bool   // a moov box was there
	fragments []span // moof boxes, headers included
	defaults  map[uint32]mp4Defaults
	gapless   *gapless
}

// maxFragments bounds what is remembered of a file made of nothing but tiny fragments:
// a fragment a second makes two days.
const maxFragments = 200000

func decodeMP4(in *input, s *sink) error {
	bad := func(err error) error { return &CorruptError{Container: "mp4", Err: err} }
	in.total() // the index may be last
	f := &mp4File{in: in, s: s, defaults: map[uint32]mp4Defaults{}}
	if err := f.walk(); err != nil {
		return bad(err)
	}
	if !f.hasIndex {
		return bad(fmt.Errorf("there is no moov box: the recording was cut off before its index was written"))
	}
	t, err := f.choose()
	if err != nil {
		return err
	}
	return f.decode(t)
}

// walk goes over the outermost boxes and reads the index.
func (f *mp4File) walk() error {
	in := f.in
	for in.left() >= 8 {
		start := in.pos
		b, err := nextBox(in, in.size)
		if err != nil {
			// What follows is no box; what came before may do.
			f.s.faults(fmt.Sprintf("%d bytes behind the last box were passed over", in.size-start))
			break
		}
		if b.cut && b.kind == "mdat" {
			f.s.faults(fmt.Sprintf("truncated: the mdat box claims %d bytes, %d are there", b.claimed, b.size()))
		}
		switch b.kind {
		case "moov":
			if !f.hasIndex {
				if err := f.readIndex(b); err != nil {
					return err
				}
			}
		case "moof":
			if len(f.fragments) < maxFragments {
				f.fragments = append(f.fragments, span{start, b.end - start})
			}
		}
		if err := in.seek(b.end); err != nil {
			return err
		}
	}
	if f.hasIndex {
		return nil
	}
	// The size of a box before it may be wrong.
	pos, err := findIndex(in)
	if err != nil || pos < 0 {
		return err
	}
	if err := in.seek(pos); err != nil {
		return err
	}
	b, err := nextBox(in, in.size)
	if err != nil {
		return err
	}
	f.s.faults("the sizes of the outermost boxes are wrong: the index was found by searching")
	return f.readIndex(b)
}

// findIndex searches the whole upload for a moov box that begins as one must; -1 if there
// is none.
func findIndex(in *input) (int64, error) {
	if err := in.seek(0); err != nil {
		return -1, err
	}
	const magic = "moov"
	w := &sliding{in: in}
	for base := int64(0); ; {
		b := w.fill(32 << 10)
		if len(b) < 16 {
			return -1, in.err
		}
		for i := 4; i+12 <= len(b); i++ {
			if string(b[i:i+4]) == magic && string(b[i+8:i+12]) == "mvhd" {
				return base + int64(i) - 4, nil
			}
		}
		n := len(b) - 15
		base += int64(n)
		w.skip(n)
	}
}

// choose lists the audio tracks and returns the one to decode: the one asked for, else
// the first that is enabled and whose codec is known, or one that isn't enabled.
func (f *mp4File) choose() (*mp4Track, error) {
	var audio []*mp4Track
	best := -1
	for _, t := range f.tracks {
		if t.handler != "soun" || len(audio) == maxListed {
			continue
		}
		if t.bad != nil {
			t.bad = &CorruptError{Container: "mp4", Err: t.bad}
		} else {
			t.bad = f.openCodec(t)
		}
		if f.in.err != nil {
			return nil, f.in.err
		}
		if t.bad == nil && (best < 0 || audio[best].disabled && !t.disabled) {
			best = len(audio)
		}
		if t.bad != nil {
			t.codec = foreignCodec(t.bad)
		}
		audio = append(audio, t)
		f.s.info.Tracks = append(f.s.info.Tracks, Track{
			Codec: t.codec, SampleRate: int(t.rate), Channels: t.channels, Language: t.language,
		})
	}
	if len(audio) == 0 {
		return nil, fmt.Errorf("the mp4 file has no audio track: %w", ErrEmpty)
	}
	f.s.info.Tracks[max(best, 0)].Default = true
	i, err := f.s.pick()
	if err != nil {
		return nil, err
	}
	return audio[i], audio[i].bad
}

// decode decodes the track, from the index and from the fragments.
func (f *mp4File) decode(t *mp4Track) error {
	f.s.info.Codec = t.codec
	st := &sampleTrack{in: f.in, s: f.s, dec: t.dec, frame: t.frame}
	if a, ok := t.dec.(*aacDecoder); ok {
		st.keep.out.on = a.halve()
	}
	if err := st.keep.out.open(f.s, t.rate, t.channels); err != nil {
		return &CorruptError{Container: "mp4", Err: err}
	}
	lead, keep := t.kept(f.timescale, f.gapless, len(f.fragments) > 0)
	st.keep.keep = keep
	if err := f.s.expect(lead+t.claimedFrames(), false, f.in.size); err != nil {
		return err
	}
	if lead > 0 {
		if err := st.keep.out.write(f.s, make([]float32, lead*int64(t.channels))); err != nil {
			return err
		}
	}
	put := st.packet
	if t.pcm != nil {
		put = func(d span) (bool, error) { return st.pcm(t.pcm, d) }
	}
	if err := f.each(t, put); err != nil {
		return err
	}
	if st.good == 0 {
		if t.codec == "aac" {
			return noAAC("mp4", st.first)
		}
		if st.first != nil {
			return &CorruptError{Container: "mp4", Err: st.first}
		}
		return &CorruptError{Container: "mp4", Err: errAbsent}
	}
	if a, ok := t.dec.(*aacDecoder); ok {
		a.note(f.s)
	}
	st.note()
	return nil
}

// openCodec makes the track's decoder.
func (f *mp4File) openCodec(t *mp4Track) error {
	if err := t.openCodec(); err != nil {
		return err
	}
	a, ok := t.dec.(*aacDecoder)
	if !ok {
		return nil
	}
	err := a.discover(f.in, func(put func(span) (bool, error)) error { return f.each(t, put) })
	t.rate, t.channels, t.frame = int64(a.cfg.Rate), a.cfg.Channels, a.cfg.Frame()
	return err
}

// each calls put for every sample of the track, in the index and in the fragments, until it
// returns false or an error.
func (f *mp4File) each(t *mp4Track, put func(span) (bool, error)) error {
	more, err := t.table.each(t.pcm, put)
	for i := 0; more && err == nil && i < len(f.fragments); i++ {
		more, err = f.fragment(t, f.fragments[i], put)
	}
	return err
}

// pcm decodes a stretch of PCM, which need not be one packet.
func (t *sampleTrack) pcm(p *pcmForm, d span) (more bool, err error) {
	if d.pos < 0 || d.pos >= t.in.size {
		t.short = true
		return false, nil
	}
	if d.size > t.in.size-d.pos {
		t.short = true
		d.size = t.in.size - d.pos
	}
	if t.spent += d.size; t.spent > t.in.size {
		t.overlap = true
		return false, nil
	}
	t.good++
	err = p.decodeSpan(t.in, d, func(x []float32) error { return t.keep.write(t.s, x) })
	if err == io.EOF {
		err = nil
	}
	return !t.short && !t.keep.done(), err
}
