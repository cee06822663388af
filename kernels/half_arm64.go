//go:build arm64 && !noasm

package kernels

// The kernels below are those of half_generic.go for rows of 16 numbers, rows > 0. toHalf rounds what is no half to the
// nearest, and returns 0 if there is none.

//go:noescape
func fromHalfNEON(dst *float32, src *uint16, rows int)

//go:noescape
func toHalfNEON(dst *uint16, src *float32, rows int) (lost int32)

func fromHalfRows(dst []float32, src []uint16) {
	rows := len(dst) / panelCols
	if !useNEON || rows == 0 {
		fromHalfGeneric(dst, src)
		return
	}
	fromHalfNEON(&dst[0], &src[0], rows)
}

func toHalfRows(dst []uint16, src []float32) (exact bool) {
	rows := len(src) / panelCols
	if !useNEON || rows == 0 {
		return toHalfGeneric(dst, src)
	}
	return toHalfNEON(&dst[0], &src[0], rows) == 0
}
