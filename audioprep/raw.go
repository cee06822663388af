package audioprep

import (
	"encoding/binary"
	"fmt"
)

// RawCodec is how samples are written in sound without a container, as microphones and telephones send it.
type RawCodec uint8

// The codecs. Each is of one channel.
const (
	RawPCM16 RawCodec = iota // 16 bits, signed, little-endian
	RawMuLaw                 // ITU-T G.711 µ-law, a byte a sample
	RawALaw                  // ITU-T G.711 A-law, a byte a sample
)

// String returns the codec's name as Info gives it.
func (c RawCodec) String() string {
	p, err := c.form()
	if err != nil {
		return fmt.Sprintf("codec %d", uint8(c))
	}
	return p.name()
}

func (c RawCodec) form() (pcmForm, error) {
	tag, bits := uint16(tagPCM), 16
	switch c {
	case RawPCM16:
	case RawMuLaw:
		tag, bits = tagMuLaw, 8
	case RawALaw:
		tag, bits = tagALaw, 8
	default:
		return pcmForm{}, fmt.Errorf("audioprep: no codec %d", uint8(c))
	}
	p, _ := newPCM(tag, 1, bits, binary.LittleEndian)
	return p, nil
}

// RawDecoder decodes raw sound that comes in pieces to samples at 16 kHz. What comes out doesn't depend on where the
// pieces were cut, which may be within a sample. It isn't safe for concurrent use.
type RawDecoder struct {
	form      pcmForm
	decode    func(dst []float32, raw []byte)
	resampler *resampler
	cut       []byte    // the first byte of a sample whose second one hasn't come yet
	samples   []float32 // at the rate of the sound
}

// NewRawDecoder returns a decoder of sound with so many samples a second, 4000 to 192000.
func NewRawDecoder(codec RawCodec, rate int) (*RawDecoder, error) {
	form, err := codec.form()
	if err != nil {
		return nil, err
	}
	if rate < 4000 || rate > 192000 {
		return nil, fmt.Errorf("audioprep: raw sound at %d Hz: want 4000 to 192000", rate)
	}
	return &RawDecoder{form: form, decode: form.decode(), resampler: newResampler(rate, SampleRate)}, nil
}

// Write appends to dst the samples that raw leads to. The last hundredth of a second or so comes with the next call.
func (d *RawDecoder) Write(dst []float32, raw []byte) []float32 {
	size := d.form.sampleBytes
	if len(d.cut) > 0 && len(raw) > 0 {
		pair := [2]byte{d.cut[0], raw[0]}
		d.cut, raw = d.cut[:0], raw[1:]
		dst = d.write(dst, pair[:])
	}
	whole := len(raw) / size * size
	d.cut = append(d.cut, raw[whole:]...)
	return d.write(dst, raw[:whole])
}

// write is Write for whole samples.
func (d *RawDecoder) write(dst []float32, raw []byte) []float32 {
	const block = 8192
	for len(raw) > 0 {
		n := min(len(raw)/d.form.sampleBytes, block)
		if cap(d.samples) < n {
			d.samples = make([]float32, n)
		}
		part := raw[:n*d.form.sampleBytes]
		d.decode(d.samples[:n], part)
		dst = d.resampler.write(dst, d.samples[:n])
		raw = raw[len(part):]
	}
	return dst
}

// Flush appends to dst the samples that Write held back, as if silence followed. The decoder then begins anew.
func (d *RawDecoder) Flush(dst []float32) []float32 {
	dst = d.resampler.flush(dst)
	d.resampler = newResampler(d.resampler.from, d.resampler.to)
	d.cut = d.cut[:0]
	return dst
}
