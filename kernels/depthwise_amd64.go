//go:build amd64 && !noasm

package kernels

// The kernels below are depthwiseGeneric by fused multiply-adds, for n channels, n > 0 and taps > 0, with strides in
// bytes.

//go:noescape
func depthwiseAVX2(dst, x *float32, ldx int, w *float32, ldw, taps, n int)

//go:noescape
func depthwiseAVX512(dst, x *float32, ldx int, w *float32, ldw, taps, n int)

func depthwise(dst, x []float32, ldx int, w []float32, ldw, taps int) {
	switch {
	case useAVX512:
		depthwiseAVX512(&dst[0], &x[0], 4*ldx, &w[0], 4*ldw, taps, len(dst))
	case useAVX2:
		depthwiseAVX2(&dst[0], &x[0], 4*ldx, &w[0], 4*ldw, taps, len(dst))
	default:
		depthwiseGeneric(dst, x, ldx, w, ldw, taps)
	}
}
