//go:build amd64 && !noasm

package kernels

// The kernels below are those of quantise_generic.go for n elements, n > 0 and a multiple of 32, with strides in bytes.

//go:noescape
func absSumsAVX2(x *float32, n int) (most, sum float32)

//go:noescape
func absSumsAVX512(x *float32, n int) (most, sum float32)

//go:noescape
func toInt16AVX2(dst *int16, x *float32, n int, scale float32) (sum int32)

//go:noescape
func toInt16AVX512(dst *int16, x *float32, n int, scale float32) (sum int32)

//go:noescape
func splitBytesAVX2(lo, hi *int8, q *int16, n int) (any int32)

//go:noescape
func splitBytesAVX512(lo, hi *int8, q *int16, n int) (any int32)

//go:noescape
func highMasksAVX2(masks *uint8, hi *int8, ld, rows, n int)

//go:noescape
func highMasksAVX512(masks *uint8, hi *int8, ld, rows, n int)

func absSums(x []float32) (most, sum float32) {
	switch {
	case len(x) == 0:
		return 0, 0
	case useAVX512:
		return absSumsAVX512(&x[0], len(x))
	case useAVX2:
		return absSumsAVX2(&x[0], len(x))
	}
	return absSumsGeneric(x)
}

func toInt16(dst []int16, x []float32, scale float32) (sum int32) {
	switch {
	case len(x) == 0:
		return 0
	case useAVX512:
		return toInt16AVX512(&dst[0], &x[0], len(x), scale)
	case useAVX2:
		return toInt16AVX2(&dst[0], &x[0], len(x), scale)
	}
	return toInt16Generic(dst, x, scale)
}

func splitBytes(lo, hi []int8, q []int16) (any bool) {
	switch {
	case len(q) == 0:
		return false
	case useAVX512:
		return splitBytesAVX512(&lo[0], &hi[0], &q[0], len(q)) != 0
	case useAVX2:
		return splitBytesAVX2(&lo[0], &hi[0], &q[0], len(q)) != 0
	}
	return splitBytesGeneric(lo, hi, q)
}

func highMasks(masks []uint8, hi []int8, ld, rows int) {
	switch {
	case len(masks) == 0:
	case useAVX512:
		highMasksAVX512(&masks[0], &hi[0], ld, rows, padK*len(masks))
	case useAVX2:
		highMasksAVX2(&masks[0], &hi[0], ld, rows, padK*len(masks))
	default:
		highMasksGeneric(masks, hi, ld, rows)
	}
}
