package audioprep

import (
	"fmt"

	"hark/audioprep/internal/mpeg"
)

// mp3Decoder finds the frames of an MP3 file and has them decoded. Around and
// between frames there may be tags of several kinds, covers, zeros, halves of
// frames and garbage.
type mp3Decoder struct {
	s     *sink
	w     *sliding
	dec   mpeg.Decoder
	block []float32

	stream mpeg.Header // of the first frame
	free   int         // bytes of frames of free format, padding aside; 0: not known, or not of it
	open   bool
	chain  bool // the last frame ended where the cursor is
	frames int  // decoded, the info frame not counted
	bad    int  // that did not decode
	lost   int  // bytes since the last frame that are no frame
	passed int  // all such bytes within the stream
	cut    int  // bytes of a last frame that is not whole
	trim   mp3Trim
}

func decodeMP3(in *input, s *sink) error {
	s.info.Codec = "mp3"
	d := &mp3Decoder{s: s, w: &sliding{in: in}, block: make([]float32, mpeg.MaxSamples)}
	d.dec.MaxHz = SampleRate / 2
	for {
		more, err := d.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if !d.open {
		return &CorruptError{Container: "mp3", Err: errAbsent}
	}
	if err := d.flush(); err != nil {
		return err
	}
	s.frameFaults(d.bad, d.passed, d.cut)
	return nil
}

// next handles what is at the cursor; false at the end of the upload.
func (d *mp3Decoder) next() (more bool, err error) {
	b := d.w.fill(mpeg.HeaderBytes)
	if len(b) == 0 {
		return false, nil
	}
	h, ok := mpeg.ParseHeader(b)
	ok = ok && (!d.open || h.SameStream(d.stream) && h.Free() == d.stream.Free())
	if ok && (!d.chain || h.Free() && d.free == 0) {
		// Not where a frame ended: believe only what goes on as a stream.
		const enough = 3 * maxFreeBytes
		b = d.w.fill(enough)
		var first mpeg.Header
		if first, ok = chainAt(b, d.w.done && len(b) < enough); ok && h.Free() && !d.open {
			d.free = first.Unpadded()
		}
	}
	h = h.WithBytes(d.free)
	if !ok {
		return d.pass()
	}
	if b = d.w.fill(h.Bytes); len(b) < h.Bytes {
		d.cut = len(b)
		return false, nil
	}
	err = d.frame(h, b[:h.Bytes])
	d.w.skip(h.Bytes)
	d.chain, d.lost = true, 0
	return true, err
}

// pass moves over what is no frame: a tag at once, else to the next byte that a
// header could start with.
func (d *mp3Decoder) pass() (more bool, err error) {
	b := d.w.fill(4 << 10)
	if n := tagBytes(b); n > 0 && d.w.has(n) {
		for n > 0 && len(b) > 0 {
			k := min(n, int64(len(b)))
			d.w.skip(int(k))
			n -= k
			b = d.w.fill(4 << 10)
		}
		d.chain = true
		return true, nil
	}
	n := 1
	for n < len(b) && b[n] != 0xff {
		n++
	}
	d.chain = false
	d.lost += n
	d.w.skip(n)
	return true, d.s.ctx.Err()
}

// tagBytes is the length of the tag that b starts with, or 0.
func tagBytes(b []byte) int64 {
	if n := id3v2Size(b); n > 0 {
		return n
	}
	if len(b) >= 3 && string(b[:3]) == "TAG" {
		return 128 // ID3v1
	}
	if len(b) >= 32 && string(b[:8]) == "APETAGEX" {
		// The size counts all but the header, whose presence bit 31 of the
		// flags says (wiki.hydrogenaudio.org, APE tags header).
		n := int64(b[12]) | int64(b[13])<<8 | int64(b[14])<<16 | int64(b[15])<<24
		return n + 32
	}
	return 0
}

// frame decodes one frame. What was lost before it becomes silence, so that the
// times of what follows stay right.
func (d *mp3Decoder) frame(h mpeg.Header, b []byte) error {
	if !d.open {
		isInfo, err := d.begin(h, b)
		if isInfo || err != nil {
			return err
		}
	}
	samples := h.Samples
	if d.dec.Half {
		samples /= 2
	}
	if d.lost > 0 {
		d.passed += d.lost
		gap := (d.lost + h.Bytes/2) / h.Bytes
		if gap = min(gap, maxLostSeconds*h.Rate/h.Samples); gap > 0 {
			if err := d.write(make([]float32, gap*samples*d.stream.Channels)); err != nil {
				return err
			}
		}
		d.lost = 0
	}
	n, err := d.dec.Decode(d.block, b)
	if err != nil {
		d.bad++
		n = samples * h.Channels
		clear(d.block[:n])
	}
	d.frames++
	return d.write(matchChannels(d.block[:n], h.Channels, d.stream.Channels))
}

// begin opens the stream with its first frame; isInfo says that this holds no audio.
func (d *mp3Decoder) begin(h mpeg.Header, b []byte) (isInfo bool, err error) {
	// Of rates this high every other sample holds all that is wanted.
	d.dec.Half = h.Rate >= 4*d.dec.MaxHz+8000
	half := halver{on: d.dec.Half}
	if err := half.open(d.s, int64(h.Rate), h.Channels); err != nil {
		return false, &CorruptError{Container: "mp3", Err: err}
	}
	d.stream, d.open = h, true
	d.s.info.Codec = fmt.Sprintf("mp%d", h.Layer)
	guess := d.w.in.soFar() / int64(h.Bytes) * int64(h.Samples)
	if err := d.s.expect(guess, false, d.w.in.soFar()); err != nil {
		return false, err
	}
	d.lost = 0
	if h.Layer == 3 {
		d.trim, isInfo = parseMP3Info(h, b)
	}
	if d.dec.Half {
		d.dec.Odd = d.trim.halve()
	}
	return isInfo, nil
}

// matchChannels makes have channels into want, in a new slice if they differ.
func matchChannels(x []float32, have, want int) []float32 {
	switch {
	case have == want:
		return x
	case have == 1:
		y := make([]float32, 2*len(x))
		for i, v := range x {
			y[2*i], y[2*i+1] = v, v
		}
		return y
	}
	y := make([]float32, len(x)/2)
	for i := range y {
		y[i] = (x[2*i] + x[2*i+1]) / 2
	}
	return y
}
