//go:build (!amd64 && !arm64) || noasm

package kernels

func absSums(x []float32) (most, sum float32) { return absSumsGeneric(x) }
func toInt16(dst []int16, x []float32, scale float32) (sum int32) {
	return toInt16Generic(dst, x, scale)
}
func highMasks(masks []uint8, hi []int8, ld, rows int) { highMasksGeneric(masks, hi, ld, rows) }

func toBytes(lo, hi []int8, x []float32, scale float32) (sum int32, any bool) {
	return toBytesGeneric(lo, hi, x, scale)
}

func columnsMax(most *[panelCols]float32, x []float32, ldx, rows int) {
	columnsMaxGeneric(most, x, ldx, rows)
}

func packGroups(dst []uint8, x []float32, ldx, groups int, scale *[panelCols]float32) {
	packGroupsGeneric(dst, x, ldx, groups, scale)
}
