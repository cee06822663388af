package kernels

import (
	"encoding/binary"
	"unsafe"
)

// Weights are kept as halves, IEEE 754 binary16, where that loses nothing: models are mostly published so. They are
// made float32 again on their way to the registers, which is exact, so that a product's bits are the same whichever way
// its weights are kept. While decoding, memory is what takes the time, and halves are half of it.

// fromHalf sets dst to the numbers src, as many of them. Their number is a multiple of panelCols.
func fromHalf(dst []float32, src []uint16) {
	for len(dst) > 0 {
		n := min(len(dst), maxElems)
		fromHalfRows(dst[:n], src)
		dst, src = dst[n:], src[n:]
	}
}

// toHalf sets dst to the numbers src, a multiple of panelCols, and reports whether all of them are halves, so that
// nothing was rounded.
func toHalf(dst []uint16, src []float32) (exact bool) {
	for len(src) > 0 {
		n := min(len(src), maxElems)
		if !toHalfRows(dst, src[:n]) {
			return false
		}
		dst, src = dst[n:], src[n:]
	}
	return true
}

// widen sets dst to the halves src, little-endian, as many of them. They may begin at any address.
func widen(dst []float32, src []byte) {
	whole := len(dst) / panelCols * panelCols
	if littleEndian && whole > 0 {
		fromHalf(dst[:whole], unsafe.Slice((*uint16)(unsafe.Pointer(&src[0])), whole))
		dst, src = dst[whole:], src[2*whole:]
	}
	for i := range dst {
		dst[i] = halfToFloat(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// littleEndian says whether this machine stores numbers as files do.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1
