//go:build arm64 && !noasm

package kernels

// depthwiseNEON is depthwiseGeneric by fused multiply-adds, for n channels, n > 0 and a multiple of four, and taps > 0,
// with strides in bytes.
//
//go:noescape
func depthwiseNEON(dst, x *float32, ldx int, w *float32, ldw, taps, n int)

func depthwise(dst, x []float32, ldx int, w []float32, ldw, taps int) {
	if !useNEON {
		depthwiseGeneric(dst, x, ldx, w, ldw, taps)
		return
	}
	n := whole(len(dst))
	if n > 0 {
		depthwiseNEON(&dst[0], &x[0], 4*ldx, &w[0], 4*ldw, taps, n)
	}
	if left := len(dst) - n; left > 0 {
		v := padded(dst[n:], 0)
		for i := range taps {
			row, weight := padded(x[i*ldx+n:][:left], 0), padded(w[i*ldw+n:][:left], 0)
			depthwiseNEON(&v[0], &row[0], 0, &weight[0], 0, 1, len(v))
		}
		copy(dst[n:], v[:])
	}
}
