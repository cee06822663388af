//go:build !amd64 || noasm

package kernels

func absSums(x []float32) (most, sum float32) { return absSumsGeneric(x) }
func toInt16(dst []int16, x []float32, scale float32) (sum int32) {
	return toInt16Generic(dst, x, scale)
}
func splitBytes(lo, hi []int8, q []int16) (any bool)   { return splitBytesGeneric(lo, hi, q) }
func highMasks(masks []uint8, hi []int8, ld, rows int) { highMasksGeneric(masks, hi, ld, rows) }
