//go:build amd64 && !noasm

package kernels

// normRowAVX2 and normRowAVX512 are normRowGeneric for n elements, n > 0, in float32 with 32 or 64 partial sums.

//go:noescape
func normRowAVX2(dst, x, gamma, beta *float32, n int, eps float32)

//go:noescape
func normRowAVX512(dst, x, gamma, beta *float32, n int, eps float32)

func normRow(dst, x, gamma, beta []float32, eps float32) {
	switch {
	case useAVX512:
		normRowAVX512(&dst[0], &x[0], &gamma[0], &beta[0], len(x), eps)
	case useAVX2:
		normRowAVX2(&dst[0], &x[0], &gamma[0], &beta[0], len(x), eps)
	default:
		normRowGeneric(dst, x, gamma, beta, eps)
	}
}
