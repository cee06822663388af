//go:build (!amd64 && !arm64) || noasm

package kernels

func tile(c []float32, ldc int, a []float32, lda, m int, b []float32, ldb, k, _ int, accumulate bool) {
	tileGeneric(c, ldc, a, lda, m, b, ldb, k, accumulate)
}

func tileHalf(c []float32, ldc int, a []float32, lda, m int, b []uint16, ldb, k, _ int, accumulate bool) {
	tileHalfGeneric(c, ldc, a, lda, m, b, ldb, k, accumulate)
}
