// Package alac decodes Apple Lossless audio.
//
// # The format
//
// A packet holds up to FrameLength samples of each channel, as a row of elements: a
// single channel, a pair of channels, fill. Each channel is predicted from up to 30
// samples before, by coefficients that follow the signal, and what is left over is
// written in a Golomb code whose width follows it too:
//
//	bits ─ adaptive Golomb code ─► residuals ─ adaptive predictor ─► channel
//	     ─ unmix ─► left, right ─ low bytes, if kept apart ─► samples
//
// Where that does not pay, samples are written as they are. The format is laid down by
// Apple's reference code (github.com/macosforge/alac, Apache-2.0) and its
// ALACMagicCookieDescription.txt; names of its parts are given below.
//
// # What it does not do
//
// Containers are the caller's. No input makes it panic; a packet without a checksum that
// is damaged and still makes sense is noise.
package alac

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hark/audioprep/internal/bits"
)

// ErrPacket is returned for bits that can't be, or fewer than there should be. The decoder
// can go on with the next packet.
var ErrPacket = errors.New("the packet is damaged")

// Config is the magic cookie (ALACSpecificConfig).
type Config struct {
	FrameLength int // the most sample frames in a packet
	BitDepth    int // 16, 20, 24 or 32
	Channels    int // 1 to MaxChannels
	Rate        int // Hz

	history, initial, limit int // pb, mb and kb: how the Golomb code adapts
}

// MaxChannels is the most channels that the format has.
const MaxChannels = 8

// maxFrameLength bounds what is believed: the reference writes 4096.
const maxFrameLength = 1 << 16

// ParseConfig reads the cookie, as MP4 keeps it in a box "alac" behind four bytes of version,
// and CAF in its "kuki" chunk, there sometimes wrapped into boxes like those of MP4.
func ParseConfig(b []byte) (Config, error) {
	if len(b) >= 24 && string(b[4:8]) == "frma" {
		b = b[12:]
		if len(b) >= 12 && string(b[4:8]) == "alac" {
			b = b[12:]
		}
	}
	if len(b) < 24 {
		return Config{}, fmt.Errorf("the cookie has %d bytes, 24 are needed", len(b))
	}
	c := Config{
		FrameLength: int(binary.BigEndian.Uint32(b)),
		BitDepth:    int(b[5]),
		history:     int(b[6]),
		initial:     int(b[7]),
		limit:       int(b[8]),
		Channels:    int(b[9]),
		Rate:        int(binary.BigEndian.Uint32(b[20:])),
	}
	switch {
	case b[4] != 0:
		return c, fmt.Errorf("version %d is not known", b[4])
	case c.FrameLength < 1 || c.FrameLength > maxFrameLength:
		return c, fmt.Errorf("packets of %d samples: 1 to %d are taken", c.FrameLength, maxFrameLength)
	case c.BitDepth != 16 && c.BitDepth != 20 && c.BitDepth != 24 && c.BitDepth != 32:
		return c, fmt.Errorf("samples of %d bits", c.BitDepth)
	case c.Channels < 1 || c.Channels > MaxChannels:
		return c, fmt.Errorf("%d channels: 1 to %d are taken", c.Channels, MaxChannels)
	case c.limit > 30:
		return c, fmt.Errorf("a code of up to %d bits", c.limit)
	}
	return c, nil
}

// Decoder holds room for a packet. Not for concurrent use.
type Decoder struct {
	cfg      Config
	input    []byte
	residual []int32
	channel  [2][]int32
}

// NewDecoder returns a decoder for a form that ParseConfig returned.
func NewDecoder(c Config) *Decoder {
	d := &Decoder{cfg: c, residual: make([]int32, c.FrameLength)}
	d.channel[0], d.channel[1] = make([]int32, c.FrameLength), make([]int32, c.FrameLength)
	return d
}

// Types of elements (ALACAudioTypes.h).
const (
	elementSCE = iota // single channel
	elementCPE        // channel pair
	elementCCE        // coupling channel: not in use
	elementLFE        // low frequencies
	elementDSE        // data of others
	elementPCE        // program configuration: not in use
	elementFIL        // fill
	elementEND
)

// Decode decodes one packet into interleaved samples in [-1, 1), in the order of the
// stream, and returns the number of sample frames. dst must have room for FrameLength of
// them.
func (d *Decoder) Decode(dst []float32, packet []byte) (frames int, err error) {
	var reader bits.Reader
	reader, d.input = bits.Padded(d.input, packet)
	r := &reader
	used := 0
	for used < d.cfg.Channels {
		kind := r.Take(3)
		if r.Past() {
			return 0, ErrPacket
		}
		width := 1
		switch kind {
		case elementCPE:
			width = 2
		case elementSCE, elementLFE:
		case elementDSE:
			skipData(r)
			continue
		case elementFIL:
			n := r.Take(4)
			if n == 15 {
				n += r.Take(8) - 1
			}
			r.Skip(8 * n)
			continue
		default:
			return 0, ErrPacket
		}
		if used+width > d.cfg.Channels {
			return 0, ErrPacket
		}
		n, err := d.element(r, width)
		if err != nil || used > 0 && n != frames {
			return 0, ErrPacket
		}
		frames = n
		scale := 1 / float32(uint64(1)<<(d.cfg.BitDepth-1))
		for c := range width {
			out := dst[used:]
			for i, v := range d.channel[c][:n] {
				out[i*d.cfg.Channels] = float32(v) * scale
			}
			used++
		}
	}
	return frames, nil
}

// element decodes a channel or a pair into d.channel.
func (d *Decoder) element(r *bits.Reader, width int) (n int, err error) {
	r.Take(4 + 12) // instance, unused
	partial := r.Take(1) == 1
	shift := 8 * r.Take(2) // low bits that are kept apart
	escape := r.Take(1) == 1
	n = d.cfg.FrameLength
	if partial {
		if n = r.Take(32); n > d.cfg.FrameLength {
			return 0, ErrPacket
		}
	}
	if escape {
		d.verbatim(r, width, n)
	} else if err := d.compressed(r, width, n, shift); err != nil {
		return 0, err
	}
	if r.Past() {
		return 0, ErrPacket
	}
	return n, nil
}

// verbatim reads samples as they are.
func (d *Decoder) verbatim(r *bits.Reader, width, n int) {
	pad := 32 - d.cfg.BitDepth
	for i := range n {
		if r.Past() {
			return
		}
		for c := range width {
			d.channel[c][i] = int32(r.Take(d.cfg.BitDepth)) << pad >> pad
		}
	}
}

// compressed reads samples that were predicted.
func (d *Decoder) compressed(r *bits.Reader, width, n, shift int) error {
	bits := d.cfg.BitDepth - shift + width - 1
	if shift == 24 || bits > 32 || bits < 1 {
		return ErrPacket
	}
	mixBits, mixRes := r.Take(8), int32(int8(r.Take(8)))
	var p [2]predictor
	for c := range width {
		p[c].read(r)
	}
	low := *r
	r.Skip(shift * width * n)
	for c := range width {
		if err := d.readResiduals(r, d.residual[:n], bits, p[c].factor); err != nil {
			return err
		}
		if p[c].mode != 0 {
			differences(d.residual[:n], bits)
		}
		p[c].run(d.channel[c][:n], d.residual[:n], bits)
	}
	if width == 2 && mixRes != 0 {
		if mixBits > 31 {
			return ErrPacket
		}
		unmix(d.channel[0][:n], d.channel[1][:n], mixBits, mixRes)
	}
	if shift > 0 {
		for i := range n {
			for c := range width {
				v := &d.channel[c][i]
				*v = *v<<shift | int32(low.Take(shift))
			}
		}
	}
	return nil
}

// unmix makes left and right of a weighted middle and a difference (unmix16 and its like in
// matrix_dec.c).
func unmix(u, v []int32, bits int, res int32) {
	for i, d := range v {
		left := u[i] + d - res*d>>bits
		u[i], v[i] = left, left-d
	}
}

// skipData passes over a data stream element.
func skipData(r *bits.Reader) {
	r.Take(4)
	align := r.Take(1) == 1
	n := r.Take(8)
	if n == 255 {
		n += r.Take(8)
	}
	if align {
		r.At = (r.At + 7) &^ 7
	}
	r.Skip(8 * n)
}
