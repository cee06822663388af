package cuda

import (
	"encoding/binary"
	"math"
)

// format is how an element lies in memory.
type format uint8

const (
	f16 format = iota
	bf16
	f32
)

// bytes is an element's size.
func (f format) bytes() int {
	if f == f32 {
		return 4
	}
	return 2
}

// suffix ends the names of the kernels for a format.
func (f format) suffix() string { return [...]string{"_f16", "_bf16", "_f32"}[f] }

// encode writes values to dst, which has room for them.
func (f format) encode(dst []byte, values []float32) {
	switch f {
	case f32:
		for i, v := range values {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	case f16:
		for i, v := range values {
			binary.LittleEndian.PutUint16(dst[2*i:], toF16(v))
		}
	case bf16:
		for i, v := range values {
			binary.LittleEndian.PutUint16(dst[2*i:], toBF16(v))
		}
	}
}

// decode reads as many values as dst has room for.
func (f format) decode(dst []float32, src []byte) {
	switch f {
	case f32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case f16:
		for i := range dst {
			dst[i] = fromF16(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case bf16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
	}
}

// toF16 rounds to the nearest half-precision number, to the even one in the middle (IEEE 754 binary16).
func toF16(v float32) uint16 {
	b := math.Float32bits(v)
	sign, b := uint16(b>>16&0x8000), b&0x7fffffff
	switch {
	case b > 0x7f800000: // no number
		return sign | 0x7e00
	case b >= 0x477ff000: // rounds to more than 65504
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14: a multiple of 2^-24, which adding 1/2 aligns to a float's last bit
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-0x38000000)>>13)
}

// fromF16 is exact.
func fromF16(h uint16) float32 {
	sign, b := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case b >= 0x7c00: // infinite, or no number
		return math.Float32frombits(sign | 0x7f800000 | b<<13)
	case b < 0x400: // a multiple of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(b)*0x1p-24))
	}
	return math.Float32frombits(sign | (b<<13 + 0x38000000))
}

// toBF16 rounds to the nearest number of 8 significant bits, to the even one in the middle.
func toBF16(v float32) uint16 {
	b := math.Float32bits(v)
	if b&0x7fffffff > 0x7f800000 { // no number: it must stay none
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
