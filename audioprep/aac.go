package audioprep

import (
	"errors"

	"hark/audioprep/internal/aac"
)

// An .aac file is a chain of ADTS frames, like an MP3 file and with the same things
// around and between them. There is no word of how much of the beginning is the encoder's
// delay, so that all is kept.

// adtsChain is how many headers in a row make a stream believable: their sync word is
// twelve bits, and a few more are fixed.
const adtsChain = 3

// adtsDecoder finds the frames of such a file and has them decoded.
type adtsDecoder struct {
	s      *sink
	out    halver
	w      *sliding
	stream aac.ADTSHeader // of the frame before
	dec    *aacDecoder
	chain  bool // the last frame ended where the cursor is
	bad    int  // packets that did not decode
	first  error
	good   int
	lost   int // bytes since the last frame that are no frame
	passed int // all such bytes within the stream
	cut    int // bytes of a last frame that is not whole
}

func decodeADTS(in *input, s *sink) error {
	s.info.Codec = "aac"
	if string(in.peek(4)) == "ADIF" {
		return unsupported("aac with an ADIF header", "")
	}
	d := &adtsDecoder{s: s, w: &sliding{in: in}}
	for {
		more, err := d.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if d.good == 0 {
		return noAAC("aac", d.first)
	}
	d.dec.note(s)
	s.frameFaults(d.bad, d.passed, d.cut)
	return nil
}

// noAAC is the error for a stream of which nothing could be decoded.
func noAAC(container string, first error) error {
	switch {
	case errors.Is(first, aac.ErrUnsupported):
		return unsupported(container+" with AAC of another profile than low complexity", "")
	case first == nil:
		first = errAbsent
	}
	return &CorruptError{Container: container, Err: first}
}

// next handles what is at the cursor; false at the end of the upload.
func (d *adtsDecoder) next() (more bool, err error) {
	b := d.w.fill(aac.ADTSHeaderBytes)
	if len(b) == 0 {
		return false, nil
	}
	h, ok := aac.ParseADTS(b)
	if ok && (!d.chain || !h.SameStream(d.stream)) {
		// Not where a frame ended, or of another form, as when a radio station's programme
		// changes: believe only what goes on as a stream.
		const enough = adtsChain * 8192 // a frame has at most 8191 bytes
		b = d.w.fill(enough)
		ok = adtsChainAt(b, d.w.done && len(b) < enough)
	}
	if !ok {
		d.pass()
		return true, d.s.ctx.Err()
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

// adtsChainAt reports whether a chain of frames starts at b. atEnd says that nothing
// follows b: then a chain that ends with it is good, however short.
func adtsChainAt(b []byte, atEnd bool) bool {
	var stream aac.ADTSHeader
	for i := range adtsChain {
		h, ok := aac.ParseADTS(b)
		if !ok || i > 0 && !h.SameStream(stream) {
			return i > 0 && atEnd && (len(b) < aac.ADTSHeaderBytes || isTrailingTag(b))
		}
		if i == 0 {
			stream = h
		}
		if h.Bytes > len(b) {
			return i > 0 && atEnd
		}
		b = b[h.Bytes:]
	}
	return true
}

// pass moves over what is no frame: a tag at once, else to the next byte that a header
// could start with.
func (d *adtsDecoder) pass() {
	b := d.w.fill(4 << 10)
	if n := tagBytes(b); n > 0 && d.w.has(n) {
		for n > 0 && len(b) > 0 {
			k := min(n, int64(len(b)))
			d.w.skip(int(k))
			n -= k
			b = d.w.fill(4 << 10)
		}
		d.chain = true
		return
	}
	n := 1
	for n < len(b) && b[n] != 0xff {
		n++
	}
	d.chain = false
	d.lost += n
	d.w.skip(n)
}

// frame decodes the packets of one frame. What was lost before it becomes silence, so
// that the times of what follows stay right.
func (d *adtsDecoder) frame(h aac.ADTSHeader, b []byte) error {
	if d.dec == nil || !h.SameStream(d.stream) {
		if err := d.begin(h, b); err != nil {
			if d.good == 0 {
				return err
			}
			d.passed += len(b) // what was decoded before is worth more
			return nil
		}
	}
	cfg := d.dec.cfg
	if d.lost > 0 {
		d.passed += d.lost
		gap := (d.lost + h.Bytes/2) / h.Bytes * h.Packets
		if gap = min(gap, maxLostSeconds*cfg.Rate/cfg.Frame()); gap > 0 {
			if err := d.out.write(d.s, make([]float32, gap*cfg.Frame()*cfg.Channels)); err != nil {
				return err
			}
		}
	}
	b = b[h.HeaderBytes:]
	for range h.Packets {
		x, read, err := d.dec.packet(b)
		if err != nil {
			d.bad++
			if d.first == nil {
				d.first = err
			}
			read = len(b) // where the next one begins is not known
		} else {
			d.good++
		}
		if err := d.out.write(d.s, x); err != nil {
			return err
		}
		b = b[min(read+h.PacketTrailer(), len(b)):]
	}
	return nil
}

// begin makes the decoder for a stream that begins, the first or another one.
func (d *adtsDecoder) begin(h aac.ADTSHeader, b []byte) error {
	cfg, err := h.Config(b)
	if err != nil {
		return noAAC("aac", err)
	}
	cfg = cfg.Discover(b[h.HeaderBytes:])
	dec := newAACDecoder(cfg)
	d.out = halver{on: dec.halve()}
	if err := d.out.open(d.s, int64(cfg.Rate), cfg.Channels); err != nil {
		return &CorruptError{Container: "aac", Err: err}
	}
	if d.dec == nil {
		guess := d.w.in.soFar() / int64(h.Bytes) * int64(h.Packets*cfg.Frame())
		if err := d.s.expect(guess, false, d.w.in.soFar()); err != nil {
			return err
		}
		d.lost = 0 // what stands before the first frame is no loss
	}
	d.stream, d.dec = h, dec
	return nil
}

// aacDecoder decodes the packets of a stream in whatever container.
type aacDecoder struct {
	cfg   aac.Config
	dec   *aac.Decoder
	block []float32
}

func newAACDecoder(cfg aac.Config) *aacDecoder {
	return &aacDecoder{cfg: cfg, dec: aac.NewDecoder(cfg), block: make([]float32, cfg.Frame()*cfg.Channels)}
}

// discover lets the decoder see the first of a stream's packets, which each calls put for: HE-AAC
// may be known by nothing else. It is told before the stream is opened.
func (a *aacDecoder) discover(in *input, each func(put func(span) (bool, error)) error) error {
	return each(func(d span) (more bool, err error) {
		if d.size <= 0 {
			return true, in.ctx.Err()
		}
		if d.size > maxFrameBytes || d.pos < 0 || !in.reaches(d.pos+d.size) {
			return false, in.err
		}
		if err := in.seek(d.pos); err != nil {
			return false, err
		}
		b := make([]byte, d.size)
		if _, err := in.readFull(b); err != nil {
			return false, in.err
		}
		*a = *newAACDecoder(a.cfg.Discover(b))
		return false, nil
	})
}

// lowest is the rate from which on half of it holds all that is wanted, and some more that the
// resampler needs for its slope.
const lowest = 40000

// halve has the decoder leave out what lies above a quarter of the rate, if there is
// nothing wanted there, and reports whether it does: then every other sample is enough.
func (a *aacDecoder) halve() bool {
	if a.cfg.Rate < lowest {
		return false
	}
	a.cfg.Low = true
	a.dec = aac.NewDecoder(a.cfg)
	return true
}

// packet decodes one packet. The samples are good until the next call, and silence if
// there is an error.
func (a *aacDecoder) packet(b []byte) (x []float32, read int, err error) {
	read, err = a.dec.Decode(a.block, b)
	if err != nil {
		clear(a.block)
	}
	return a.block, read, err
}

// decode makes aacDecoder a packetDecoder.
func (a *aacDecoder) decode(b []byte) ([]float32, error) {
	x, _, err := a.packet(b)
	return x, err
}

// note says what was left out: SBR that came where neither the container nor the first
// packet told of it.
func (a *aacDecoder) note(s *sink) {
	if a.dec.CoreOnly() {
		s.faults("HE-AAC: only its AAC-LC core was decoded, without the upper half of the frequencies")
	}
}
