package audioprep

import (
	"errors"
	"fmt"

	"github.com/mewkiz/flac/meta"

	"hark/audioprep/internal/bits"
	"hark/audioprep/internal/flac"
)

// A FLAC file is "fLaC", metadata blocks of which the first is STREAMINFO, and
// frames that each begin with a sync code and a header under a CRC-8 and end
// with a CRC-16 over all (RFC 9639). Finding them, checking them and going on behind
// damaged ones is done here.

const (
	// maxBadFrames ends the decoding of a file that is nothing but damage:
	// each false start costs time without bringing audio.
	maxBadFrames = 10000
	// maxLostSeconds is how much silence is put in for lost frames at most,
	// since how many are lost is only what the next header says.
	maxLostSeconds = 10
	// flacFrameEnd is the checksum, and a few bytes for the heads of subframes.
	flacFrameEnd = 128
)

type flacDecoder struct {
	s      *sink
	w      *sliding
	info   *meta.StreamInfo
	dec    flac.Decoder
	padded []byte // the end of the upload
	block  []float32
	open   bool
	form   flacHeader // of the first frame
	base   int64      // sample frames that the sink had before this stream
	bad    int        // frames that did not decode
	lost   int64      // bytes passed over between frames
	redone int64      // bytes decoded in vain
}

func decodeFLAC(in *input, s *sink) error {
	s.info.Codec = "flac"
	info, err := readFLACMetadata(in, s)
	if err != nil {
		return &CorruptError{Container: "flac", Err: err}
	}
	return decodeFLACFrames(in, s, info)
}

// decodeFLACFrames decodes the frames that in holds from its position on.
func decodeFLACFrames(in *input, s *sink, info *meta.StreamInfo) error {
	d := &flacDecoder{s: s, w: &sliding{in: in}, info: info}
	for d.bad < maxBadFrames {
		more, err := d.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if !d.open {
		return &CorruptError{Container: s.info.Container, Err: errAbsent}
	}
	if d.bad > 0 || d.lost > 0 {
		s.faults(fmt.Sprintf("%d damaged frames were left out, %d bytes between frames passed over", d.bad, d.lost))
	}
	if n, got := info.NSamples, uint64(s.frames-d.base); n > got {
		s.faults(fmt.Sprintf("truncated: the header claims %d samples, %d are there", n, got))
	}
	return nil
}

// readFLACMetadata reads STREAMINFO and passes over the other blocks.
func readFLACMetadata(in *input, s *sink) (*meta.StreamInfo, error) {
	if err := in.seek(in.pos + 4); err != nil { // "fLaC"
		return nil, err
	}
	first, err := meta.New(in)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	if first.Type != meta.TypeStreamInfo {
		return nil, errors.New("the first metadata block is not STREAMINFO")
	}
	if err := first.Parse(); err != nil {
		return nil, fmt.Errorf("STREAMINFO: %w", err)
	}
	end := in.pos
	if first.Length > 34 {
		end += first.Length - 34
	}
	for last := first.IsLast; !last; {
		if err := in.seek(end); err != nil {
			return nil, err
		}
		block, err := meta.New(in)
		if err != nil {
			return nil, fmt.Errorf("metadata: %w", err)
		}
		end = in.pos + block.Length
		if !in.reaches(end) {
			s.faults("a metadata block runs past the end of the file")
			end = in.pos // look for frames inside
			break
		}
		last = block.IsLast
	}
	return first.Body.(*meta.StreamInfo), in.seek(end)
}

// next decodes the next frame, or passes over bytes that are none. It returns
// false at the end of the upload.
func (d *flacDecoder) next() (more bool, err error) {
	b := d.w.fill(maxFlacHeader)
	if len(b) < 6 {
		return false, nil
	}
	h, ok := parseFlacHeader(b)
	if !ok {
		// A tag at the end is no damage.
		if d.open && isTrailingTag(b) && len(d.w.fill(4<<10)) < 4<<10 {
			return false, nil
		}
		n := 1
		for n < len(b) && b[n] != 0xff {
			n++
		}
		d.lost += int64(n)
		d.w.skip(n)
		return true, d.s.ctx.Err()
	}
	if h.rate == 0 {
		h.rate = int(d.info.SampleRate)
	}
	if h.bits == 0 {
		h.bits = int(d.info.BitsPerSample)
	}
	if h.bits > 24 && h.paired {
		return false, unsupported("flac with pairs of 32-bit channels", "")
	}
	x, n := d.decode(h)
	if x == nil {
		d.bad++
		d.redone += int64(n)
		// Starting again right behind the header finds the next frame even
		// if this one's end was not found; but not for ever.
		if d.redone < d.w.in.pos+maxFrameBytes {
			n = 2
		}
		d.w.skip(max(n, 2))
		return true, d.s.ctx.Err()
	}
	d.w.skip(n)
	return true, d.emit(h, x)
}

// decode decodes the frame at the cursor. x is nil if it is damaged; n is how many bytes
// were read.
func (d *flacDecoder) decode(h flacHeader) (x [][]int32, n int) {
	// Few frames are longer than their samples would be as they are.
	for room := h.bytes + h.channels*h.blockSize*(h.bits+1)/8 + flacFrameEnd; ; room *= 4 {
		b := d.w.fill(room + bits.Slack)
		if len(b) < room+bits.Slack {
			d.padded = append(append(d.padded[:0], b...), make([]byte, bits.Slack)...)
			b, room = d.padded, len(b)
		}
		r := bits.Reader{Data: b, At: 8 * h.bytes, End: 8 * room}
		x, err := d.dec.Decode(&r, flac.Form{BlockSize: h.blockSize, Bits: h.bits, Assignment: h.assignment})
		if r.Past() && room < maxFrameBytes && !d.w.done {
			continue
		}
		n = min(r.At/8+2, room)
		if err != nil || crc16(b[:n]) != 0 {
			return nil, n
		}
		return x, n
	}
}

// emit hands a frame's samples on, after silence for frames that were lost.
func (d *flacDecoder) emit(h flacHeader, x [][]int32) error {
	if !d.open {
		if err := d.s.open(int64(h.rate), h.channels); err != nil {
			return &CorruptError{Container: d.s.info.Container, Err: err}
		}
		d.open, d.form, d.base = true, h, d.s.frames
		if err := d.s.expect(int64(d.info.NSamples), false, d.w.in.soFar()); err != nil {
			return err
		}
	} else if h.channels != d.form.channels || h.rate != d.form.rate {
		d.bad++ // a stray frame of another stream
		return nil
	}
	have := d.s.frames - d.base
	if gap := h.sample - have; (d.bad > 0 || d.lost > 0) && gap > 0 && have > 0 && gap <= int64(maxLostSeconds*h.rate) {
		if err := d.s.write(make([]float32, int(gap)*h.channels)); err != nil {
			return err
		}
	}
	d.block = h.interleave(d.block, x)
	return d.s.write(d.block)
}

// interleave returns samples of all channels in turn, in block if it has room.
func (h flacHeader) interleave(block []float32, x [][]int32) []float32 {
	n := h.blockSize * h.channels
	if cap(block) < n {
		block = make([]float32, n)
	}
	block = block[:n]
	scale := 1 / float32(uint64(1)<<(h.bits-1))
	for c, samples := range x {
		at := c
		for _, v := range samples {
			block[at] = float32(v) * scale
			at += h.channels
		}
	}
	return block
}
