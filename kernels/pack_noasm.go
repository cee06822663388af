//go:build (!amd64 && !arm64) || noasm

package kernels

func packPanel(dst, src []float32, lds, cols, k int) { packPanelGeneric(dst, src, lds, cols, k) }
