//go:build arm64 && !noasm

package kernels

// The kernels below are those of quantise_generic.go for n elements, n > 0 and a multiple of 32, with strides in bytes.

//go:noescape
func absSumsNEON(x *float32, n int) (most, sum float32)

//go:noescape
func toInt16NEON(dst *int16, x *float32, n int, scale float32) (sum int32)

//go:noescape
func toBytesNEON(lo, hi *int8, x *float32, n int, scale float32) (sum, any int32)

//go:noescape
func columnsMaxNEON(most, x *float32, ldx, rows int)

//go:noescape
func packGroupsNEON(dst *uint8, x *float32, ldx, groups int, scale *float32)

func absSums(x []float32) (most, sum float32) {
	if !useNEON {
		return absSumsGeneric(x)
	}
	return absSumsNEON(&x[0], len(x))
}

func toInt16(dst []int16, x []float32, scale float32) (sum int32) {
	if !useNEON {
		return toInt16Generic(dst, x, scale)
	}
	return toInt16NEON(&dst[0], &x[0], len(x), scale)
}

func toBytes(lo, hi []int8, x []float32, scale float32) (sum int32, any bool) {
	if !useNEON {
		return toBytesGeneric(lo, hi, x, scale)
	}
	sum, some := toBytesNEON(&lo[0], &hi[0], &x[0], len(x), scale)
	return sum, some != 0
}

func highMasks(masks []uint8, hi []int8, ld, rows int) { highMasksGeneric(masks, hi, ld, rows) }

func columnsMax(most *[panelCols]float32, x []float32, ldx, rows int) {
	if !useNEON || rows == 0 {
		columnsMaxGeneric(most, x, ldx, rows)
		return
	}
	columnsMaxNEON(&most[0], &x[0], 4*ldx, rows)
}

func packGroups(dst []uint8, x []float32, ldx, groups int, scale *[panelCols]float32) {
	if !useNEON || groups == 0 {
		packGroupsGeneric(dst, x, ldx, groups, scale)
		return
	}
	packGroupsNEON(&dst[0], &x[0], 4*ldx, groups, &scale[0])
}
