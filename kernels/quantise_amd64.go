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
func toBytesAVX2(lo, hi *int8, x *float32, n int, scale float32) (sum, any int32)

//go:noescape
func toBytesAVX512(lo, hi *int8, x *float32, n int, scale float32) (sum, any int32)

//go:noescape
func highMasksAVX2(masks *uint8, hi *int8, ld, rows, n int)

//go:noescape
func highMasksAVX512(masks *uint8, hi *int8, ld, rows, n int)

//go:noescape
func columnsMaxAVX2(most, x *float32, ldx, rows int)

//go:noescape
func columnsMaxAVX512(most, x *float32, ldx, rows int)

//go:noescape
func packGroupsAVX2(dst *uint8, x *float32, ldx, groups int, scale *float32)

//go:noescape
func packGroupsAVX512(dst *uint8, x *float32, ldx, groups int, scale *float32)

func absSums(x []float32) (most, sum float32) {
	switch {
	case useAVX512:
		return absSumsAVX512(&x[0], len(x))
	case useAVX2:
		return absSumsAVX2(&x[0], len(x))
	}
	return absSumsGeneric(x)
}

func toInt16(dst []int16, x []float32, scale float32) (sum int32) {
	switch {
	case useAVX512:
		return toInt16AVX512(&dst[0], &x[0], len(x), scale)
	case useAVX2:
		return toInt16AVX2(&dst[0], &x[0], len(x), scale)
	}
	return toInt16Generic(dst, x, scale)
}

func toBytes(lo, hi []int8, x []float32, scale float32) (sum int32, any bool) {
	var some int32
	switch {
	case useAVX512:
		sum, some = toBytesAVX512(&lo[0], &hi[0], &x[0], len(x), scale)
	case useAVX2:
		sum, some = toBytesAVX2(&lo[0], &hi[0], &x[0], len(x), scale)
	default:
		return toBytesGeneric(lo, hi, x, scale)
	}
	return sum, some != 0
}

func highMasks(masks []uint8, hi []int8, ld, rows int) {
	switch {
	case useAVX512:
		highMasksAVX512(&masks[0], &hi[0], ld, rows, padK*len(masks))
	case useAVX2:
		highMasksAVX2(&masks[0], &hi[0], ld, rows, padK*len(masks))
	default:
		highMasksGeneric(masks, hi, ld, rows)
	}
}

func columnsMax(most *[panelCols]float32, x []float32, ldx, rows int) {
	switch {
	case useAVX512:
		columnsMaxAVX512(&most[0], &x[0], 4*ldx, rows)
	case useAVX2:
		columnsMaxAVX2(&most[0], &x[0], 4*ldx, rows)
	default:
		columnsMaxGeneric(most, x, ldx, rows)
	}
}

func packGroups(dst []uint8, x []float32, ldx, groups int, scale *[panelCols]float32) {
	switch {
	case useAVX512:
		packGroupsAVX512(&dst[0], &x[0], 4*ldx, groups, &scale[0])
	case useAVX2:
		packGroupsAVX2(&dst[0], &x[0], 4*ldx, groups, &scale[0])
	default:
		packGroupsGeneric(dst, x, ldx, groups, scale)
	}
}
