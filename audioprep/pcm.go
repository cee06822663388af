package audioprep

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// pcmForm is how samples are written in containers other than WAV: as there, but in
// either order of bytes, and with 8 bits mostly signed.
type pcmForm struct {
	wavFormat
	order   binary.ByteOrder
	signed8 bool
}

// newPCM returns the form of samples with so many bits, which stand at the top of as many
// bytes as they need. ok is false for a width that is not decoded.
func newPCM(tag uint16, channels, bits int, order binary.ByteOrder) (p pcmForm, ok bool) {
	p.tag, p.channels, p.bits, p.order, p.signed8 = tag, channels, bits, order, true
	p.sampleBytes = (bits + 7) / 8
	switch tag {
	case tagPCM:
		ok = bits >= 1 && bits <= 32
	case tagFloat:
		ok = bits == 32 || bits == 64
	case tagALaw, tagMuLaw:
		p.sampleBytes, ok = 1, true
	}
	return p, ok
}

// frameBytes is the length of a sample frame.
func (p *pcmForm) frameBytes() int { return p.channels * p.sampleBytes }

// name is the codec as Info gives it.
func (p *pcmForm) name() string {
	if p.tag == tagPCM && p.sampleBytes == 1 && p.signed8 {
		return "pcm_s8"
	}
	return p.codec()
}

func (p *pcmForm) decode() func(dst []float32, raw []byte) {
	if p.tag == tagPCM && p.sampleBytes == 1 && p.signed8 {
		return func(dst []float32, raw []byte) {
			for i := range dst {
				dst[i] = float32(int8(raw[i])) / 128
			}
		}
	}
	return p.decoder(p.order)
}

// decodeSpan decodes the whole sample frames of d, as far as they are there, and hands
// them to write.
func (p *pcmForm) decodeSpan(in *input, d span, write func([]float32) error) error {
	if err := in.seek(d.pos); err != nil {
		return err
	}
	frame := p.frameBytes()
	raw := make([]byte, min(max(1, 32<<10/frame)*frame, int(min(d.size, 1<<20))/frame*frame))
	block := make([]float32, len(raw)/p.sampleBytes)
	decode := p.decode()
	for left := d.size - d.size%int64(frame); left > 0; {
		n, err := in.readFull(raw[:min(left, int64(len(raw)))])
		n -= n % frame
		decode(block[:n/p.sampleBytes], raw[:n])
		if err := write(block[:n/p.sampleBytes]); err != nil {
			return err
		}
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil // the upload ends here
			}
			return err
		}
		left -= int64(n)
	}
	return nil
}

// decodePCM decodes a file whose samples stand in one piece, as in AIFF, AU and CAF.
// claimed is how many bytes there should be, toEnd if that is not said.
func decodePCM(in *input, s *sink, container string, p pcmForm, rate, pos, claimed int64) error {
	s.info.Codec = p.name()
	if err := s.open(rate, p.channels); err != nil {
		return &CorruptError{Container: container, Err: err}
	}
	if err := s.expectBytes(in, pos, claimed, p.frameBytes()); err != nil {
		return err
	}
	if err := p.decodeSpan(in, span{pos, claimed}, s.write); err != nil {
		return err
	}
	have := claimed
	if !in.reaches(pos + claimed) {
		have = max(0, in.total()-pos)
		if claimed != toEnd {
			s.faults(fmt.Sprintf("truncated: the header claims %d bytes of samples, %d are there", claimed, have))
		}
	}
	if rest := have % int64(p.frameBytes()); rest != 0 {
		s.faults(fmt.Sprintf("the last %d bytes are less than one sample frame", rest))
	}
	return nil
}
