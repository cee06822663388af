package kernels

import "math"

func fromHalfGeneric(dst []float32, src []uint16) {
	for i := range dst {
		dst[i] = halfToFloat(src[i])
	}
}

func toHalfGeneric(dst []uint16, src []float32) (exact bool) {
	for i, v := range src {
		dst[i] = floatToHalf(v)
		if math.Float32bits(halfToFloat(dst[i])) != math.Float32bits(v) {
			return false
		}
	}
	return true
}

const (
	fractionBits = 23 - 10          // by which a float32's fraction is longer than a half's
	rebias       = (127 - 15) << 23 // between their exponents
)

// halfToFloat converts any half. A signalling NaN becomes a quiet one.
func halfToFloat(h uint16) float32 {
	sign, rest := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch {
	case rest < 0x400: // zero and subnormal numbers: a multiple of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(rest)*0x1p-24))
	case rest > 0x7c00:
		return math.Float32frombits(sign | 0x7fc00000 | rest<<fractionBits)
	case rest == 0x7c00:
		return math.Float32frombits(sign | 0x7f800000)
	}
	return math.Float32frombits(sign | (rest<<fractionBits + rebias))
}

// floatToHalf converts a number that is a half. Any other becomes some half, which is told apart by converting it back.
func floatToHalf(v float32) uint16 {
	b := math.Float32bits(v)
	sign, rest := uint16(b>>16)&0x8000, b&0x7fffffff
	switch {
	case rest >= 0x7f800000:
		return sign | 0x7c00 | uint16(rest>>fractionBits&0x3ff)
	case rest >= rebias+1<<23:
		return sign | uint16(min((rest-rebias)>>fractionBits, 0x7c00))
	}
	return sign | uint16(math.Float32frombits(rest)*0x1p24)
}
