//go:build (!amd64 && !arm64) || noasm

package kernels

func dotRows(dst, q, x []float32, ldx int) { dotRowsGeneric(dst, q, x, ldx) }
func addRows(dst, p, x []float32, ldx int) { addRowsGeneric(dst, p, x, ldx) }
