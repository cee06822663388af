package audioprep

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"hark/audioprep/internal/aac"
)

// A CAF file is "caff", a version, and chunks with sizes of 64 bits, of which that of "data"
// may be -1: to the end. "desc" describes the samples; for codecs with packets "kuki" holds
// the codec's configuration and "pakt" the packets' sizes, which may stand behind the data.
//
// Apple Core Audio Format Specification 1.0.

// cafFile is what the walk over the chunks found.
type cafFile struct {
	rate     int64
	codec    string
	flags    int64
	bytes    int64 // of a packet, 0: they differ
	frames   int64 // sample frames of a packet, 0: they differ
	channels int
	bits     int
	hasDesc  bool
	hasData  bool
	data     span
	claimed  int64 // bytes of data, -1: to the end
	cookie   []byte
	packets  []byte // sizes, seven bits a byte
	count    int64  // of packets
	valid    int64  // sample frames that are to be heard
	priming  int64  // sample frames before those
}

func decodeCAF(in *input, s *sink) error {
	bad := func(err error) error { return &CorruptError{Container: "caf", Err: err} }
	in.total() // the packets' sizes may be last
	c := &cafFile{}
	if err := in.seek(in.pos + 8); err != nil {
		return err
	}
	for in.left() >= 12 {
		var h [12]byte
		if _, err := in.readFull(h[:]); err != nil {
			return bad(err)
		}
		size, start := be64(h[:], 4), in.pos
		if err := c.readChunk(in, string(h[:4]), size); err != nil {
			return corrupt("caf", err)
		}
		if size < 0 || size > in.size-start {
			break
		}
		if err := in.seek(start + size); err != nil {
			return err
		}
	}
	if !c.hasDesc {
		return bad(errors.New("there is no desc chunk to say how the samples are written"))
	}
	if !c.hasData {
		return bad(errors.New("there is no data chunk"))
	}
	if c.channels < 1 || c.channels > maxChannels {
		return bad(fmt.Errorf("%d channels: 1 to %d are taken", c.channels, maxChannels))
	}
	if p, ok := c.pcm(); ok {
		if c.claimed == 0 || c.data.pos >= in.size {
			return ErrEmpty
		}
		claimed := c.claimed
		if claimed < 0 {
			claimed = toEnd
		}
		return decodePCM(in, s, "caf", p, c.rate, c.data.pos, claimed)
	}
	return c.decodePackets(in, s)
}

// readChunk reads what matters of a chunk.
func (c *cafFile) readChunk(in *input, kind string, size int64) error {
	read := func(n int64) ([]byte, error) {
		b := make([]byte, max(0, min(n, size, in.left())))
		_, err := in.readFull(b)
		return b, err
	}
	switch kind {
	case "desc":
		b, err := read(32)
		if err != nil || len(b) < 32 {
			return errors.New("the desc chunk is cut short")
		}
		if rate := math.Float64frombits(uint64(be64(b, 0))); rate >= 0 && rate < 1<<32 {
			c.rate = int64(math.Round(rate))
		}
		c.codec, c.flags = string(b[8:12]), be32(b, 12)
		c.bytes, c.frames = be32(b, 16), be32(b, 20)
		c.channels, c.bits = int(min(be32(b, 24), 1<<16)), int(min(be32(b, 28), 1<<16))
		c.hasDesc = true
	case "data":
		// An edit count stands first.
		c.data, c.claimed = span{in.pos + 4, in.size - in.pos - 4}, -1
		if size >= 4 {
			c.claimed = size - 4
			c.data.size = min(c.data.size, c.claimed)
		}
		c.hasData = true
	case "kuki":
		b, err := read(64 << 10)
		c.cookie = b
		return err
	case "pakt":
		if size > maxTableBytes {
			return fmt.Errorf("the pakt table has %d bytes, at most %d are taken", size, maxTableBytes)
		}
		b, err := read(maxTableBytes)
		if err != nil || len(b) < 24 {
			return errors.New("the pakt chunk is cut short")
		}
		c.count, c.valid, c.priming = be64(b, 0), be64(b, 8), int64(int32(be32(b, 16)))
		c.packets = b[24:]
	}
	return nil
}

// pcm returns the form of the samples; ok is false for codecs with packets, and for forms
// that aren't decoded.
func (c *cafFile) pcm() (p pcmForm, ok bool) {
	var order binary.ByteOrder = binary.BigEndian
	tag := uint16(tagPCM)
	switch c.codec {
	case "lpcm":
		const isFloat, isLittleEndian = 1, 2
		if c.flags&isFloat != 0 {
			tag = tagFloat
		}
		if c.flags&isLittleEndian != 0 {
			order = binary.LittleEndian
		}
	case "ulaw":
		tag = tagMuLaw
	case "alaw":
		tag = tagALaw
	default:
		return p, false
	}
	p, ok = newPCM(tag, c.channels, c.bits, order)
	// Samples may have more room than bits.
	if room := int(min(c.bytes, 1<<10)); ok && tag == tagPCM && room > p.frameBytes() && room%c.channels == 0 {
		p.sampleBytes = room / c.channels
		ok = p.sampleBytes <= 4
	}
	return p, ok
}

// decodePackets decodes a file whose codec has packets.
func (c *cafFile) decodePackets(in *input, s *sink) error {
	t := &sampleTrack{in: in, s: s}
	var rate int64
	var channels int
	switch c.codec {
	case "alac":
		a, err := newALAC(c.cookie)
		if err != nil {
			return &CorruptError{Container: "caf", Err: err}
		}
		t.dec, t.frame = a, a.cfg.FrameLength
		rate, channels = int64(a.cfg.Rate), a.cfg.Channels
	case "aac ":
		_, config := parseESDS(append(make([]byte, 4), c.cookie...))
		cfg, err := aac.ParseConfig(config)
		if err != nil {
			return noAAC("caf", err)
		}
		a := newAACDecoder(cfg)
		if err := a.discover(in, c.eachPacket); err != nil {
			return err
		}
		t.dec, t.frame = a, a.cfg.Frame()
		rate, channels = int64(a.cfg.Rate), a.cfg.Channels
	default:
		return unsupported(fmt.Sprintf("caf with codec %q", c.codec), "")
	}
	s.info.Codec = strings.TrimSpace(c.codec)
	if err := s.open(rate, channels); err != nil {
		return &CorruptError{Container: "caf", Err: err}
	}
	if c.valid > 0 && c.valid <= maxMediaTime && c.rate > 0 {
		from := scaleTime(max(c.priming, 0), c.rate, rate)
		t.keep.keep = []span{{from, scaleTime(c.valid, c.rate, rate)}}
	}
	if err := s.expect(scaleTime(max(0, min(c.valid, maxMediaTime)), c.rate, rate), false, in.size); err != nil {
		return err
	}
	if c.claimed > c.data.size {
		s.faults(fmt.Sprintf("truncated: the data chunk claims %d bytes, %d are there", c.claimed, c.data.size))
	}
	if err := c.eachPacket(t.packet); err != nil {
		return err
	}
	if t.good == 0 {
		if t.first == nil {
			t.first = errAbsent
		}
		return &CorruptError{Container: "caf", Err: t.first}
	}
	if a, ok := t.dec.(*aacDecoder); ok {
		a.note(s)
	}
	t.note()
	return nil
}

// eachPacket calls put for every packet, until it returns false or an error. The table
// holds the size of each, and the number of sample frames where that changes, which the
// decoder knows itself.
func (c *cafFile) eachPacket(put func(span) (bool, error)) error {
	table := c.packets
	next := func() (v int64) {
		for len(table) > 0 {
			b := table[0]
			table = table[1:]
			v = v<<7&(1<<56-1) | int64(b&0x7f)
			if b&0x80 == 0 {
				break
			}
		}
		return v
	}
	d := span{c.data.pos, c.bytes}
	end := c.data.pos + c.data.size
	for n := c.count; n > 0 && d.pos < end; n-- {
		if c.bytes == 0 {
			if len(table) == 0 {
				return nil
			}
			d.size = next()
		}
		if c.frames == 0 {
			next()
		}
		if more, err := put(d); !more || err != nil {
			return err
		}
		d.pos += d.size
	}
	return nil
}
