//go:build (!amd64 && !arm64) || noasm

package kernels

func depthwise(dst, x []float32, ldx int, w []float32, ldw, taps int) {
	depthwiseGeneric(dst, x, ldx, w, ldw, taps)
}
