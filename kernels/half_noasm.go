//go:build (!amd64 && !arm64) || noasm

package kernels

func fromHalfRows(dst []float32, src []uint16) { fromHalfGeneric(dst, src) }

func toHalfRows(dst []uint16, src []float32) (exact bool) { return toHalfGeneric(dst, src) }
