package conform

import (
	"encoding/binary"
	"math"
)

// wavForm is how a WAV file holds its samples.
type wavForm struct {
	bits       int  // 8 (µ-law), 16, 24, or 32 (float)
	rate       int  // Hz
	channels   int  // of 6, the third speaks (front centre); of fewer, all do
	extensible bool // header of WAVE_FORMAT_EXTENSIBLE
	piped      bool // size fields as a program leaves them that can't seek back
	pipedSize  uint32
}

// encode makes a file of samples at 16 kHz.
func (f wavForm) encode(samples []int16) []byte {
	samples = resample(samples, f.rate)
	data := make([]byte, 0, len(samples)*f.channels*f.bits/8)
	for _, v := range samples {
		for c := range f.channels {
			if f.channels == 6 && c != 2 {
				data = f.appendSample(data, 0)
			} else {
				data = f.appendSample(data, v)
			}
		}
	}
	return append(f.header(uint32(len(data))), data...)
}

// header is all that stands before the samples.
func (f wavForm) header(dataBytes uint32) []byte {
	le := binary.LittleEndian
	tag := map[int]uint16{8: 7, 16: 1, 24: 1, 32: 3}[f.bits] // of RFC 2361: µ-law, PCM, float
	block := f.channels * f.bits / 8
	format := tag
	if f.extensible {
		format = 0xFFFE
	}
	b := le.AppendUint16(nil, format)
	b = le.AppendUint16(b, uint16(f.channels))
	b = le.AppendUint32(b, uint32(f.rate))
	b = le.AppendUint32(b, uint32(f.rate*block))
	b = le.AppendUint16(b, uint16(block))
	b = le.AppendUint16(b, uint16(f.bits))
	if f.extensible {
		b = le.AppendUint16(b, 22)
		b = le.AppendUint16(b, uint16(f.bits))
		b = le.AppendUint32(b, map[int]uint32{1: 4, 2: 3, 6: 0x3F}[f.channels]) // speakers: centre; left, right; 5.1
		b = le.AppendUint16(b, tag)
		b = append(b, "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"...)
	}
	riffBytes := uint32(len(b)) + 20 + dataBytes
	if f.piped {
		riffBytes, dataBytes = f.pipedSize, f.pipedSize
	}
	h := le.AppendUint32([]byte("RIFF"), riffBytes)
	h = le.AppendUint32(append(h, "WAVEfmt "...), uint32(len(b)))
	h = append(append(h, b...), "data"...)
	return le.AppendUint32(h, dataBytes)
}

func (f wavForm) appendSample(data []byte, v int16) []byte {
	switch f.bits {
	case 8:
		return append(data, muLaw(v))
	case 24:
		return append(data, 0, byte(v), byte(v>>8))
	case 32:
		return binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)/32768))
	}
	return binary.LittleEndian.AppendUint16(data, uint16(v))
}

// pcm16 are samples as bytes, least significant first.
func pcm16(samples []int16) []byte {
	out := make([]byte, 0, 2*len(samples))
	for _, v := range samples {
		out = binary.LittleEndian.AppendUint16(out, uint16(v))
	}
	return out
}

// muLaw is one sample by ITU-T G.711: sign, exponent and four bits of mantissa, all inverted.
func muLaw(v int16) byte {
	const bias, clip = 132, 32635
	sign, magnitude := byte(0), int(v)
	if magnitude < 0 {
		sign, magnitude = 0x80, -magnitude
	}
	magnitude = min(magnitude, clip) + bias
	exponent := 7
	for exponent > 0 && magnitude>>(exponent+7) == 0 {
		exponent--
	}
	return ^(sign | byte(exponent)<<4 | byte(magnitude>>(exponent+3))&0x0F)
}

// resample takes samples from 16 kHz to another rate, well enough for speech: straight lines between samples, and
// before going down a mean over what one new sample stands for.
func resample(samples []int16, rate int) []int16 {
	if rate == sampleRate {
		return samples
	}
	step := float64(sampleRate) / float64(rate)
	out := make([]int16, int(float64(len(samples))/step))
	for i := range out {
		at := float64(i) * step
		j := int(at)
		next := samples[min(j+1, len(samples)-1)]
		if step > 1 {
			out[i] = int16((int(samples[j]) + int(next)) / 2)
			continue
		}
		out[i] = int16(float64(samples[j]) + (at-float64(j))*(float64(next)-float64(samples[j])))
	}
	return out
}
