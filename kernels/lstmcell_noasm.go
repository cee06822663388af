//go:build (!amd64 && !arm64) || noasm

package kernels

func lstmCell(h, c, gates []float32, n int) { lstmCellGeneric(h, c, gates, n) }
