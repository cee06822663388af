//go:build amd64 && !noasm

package kernels

// The kernels below are those of half_generic.go for rows of 16 numbers, rows > 0. toHalf rounds what is no half to the
// nearest, and returns 0 if there is none.

//go:noescape
func fromHalfAVX2(dst *float32, src *uint16, rows int)

//go:noescape
func fromHalfAVX512(dst *float32, src *uint16, rows int)

//go:noescape
func toHalfAVX2(dst *uint16, src *float32, rows int) (lost int32)

//go:noescape
func toHalfAVX512(dst *uint16, src *float32, rows int) (lost int32)

func fromHalfRows(dst []float32, src []uint16) {
	switch rows := len(dst) / panelCols; {
	case rows == 0:
	case useAVX512:
		fromHalfAVX512(&dst[0], &src[0], rows)
	case useAVX2:
		fromHalfAVX2(&dst[0], &src[0], rows)
	default:
		fromHalfGeneric(dst, src)
	}
}

func toHalfRows(dst []uint16, src []float32) (exact bool) {
	switch rows := len(src) / panelCols; {
	case rows == 0:
		return true
	case useAVX512:
		return toHalfAVX512(&dst[0], &src[0], rows) == 0
	case useAVX2:
		return toHalfAVX2(&dst[0], &src[0], rows) == 0
	}
	return toHalfGeneric(dst, src)
}
