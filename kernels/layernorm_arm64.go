//go:build arm64 && !noasm

package kernels

// normRowNEON is normRowGeneric for n elements, n > 0 and a multiple of four, in float32 with 16 partial sums.
//
//go:noescape
func normRowNEON(dst, x, gamma, beta *float32, n int, eps float32)

func normRow(dst, x, gamma, beta []float32, eps float32) {
	if !useNEON || len(x)%len(vector{}) != 0 {
		normRowGeneric(dst, x, gamma, beta, eps)
		return
	}
	normRowNEON(&dst[0], &x[0], &gamma[0], &beta[0], len(x), eps)
}
