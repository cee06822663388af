//go:build arm64 && !noasm

package kernels

// tileNEON is tileGeneric for one panel, 16 columns, with strides in bytes and m > 0, by fused multiply-adds.
//
//go:noescape
func tileNEON(m, k int, a *float32, lda int, b, c *float32, ldc int, accumulate bool)

//go:noescape
func tileHalfNEON(m, k int, a *float32, lda int, b *uint16, c *float32, ldc int, accumulate bool)

// tile computes one tile of columns: see tileGeneric. m rows times k is bounded as on amd64.
func tile(c []float32, ldc int, a []float32, lda, m int, b []float32, ldb, k, _ int, accumulate bool) {
	if !useNEON {
		tileGeneric(c, ldc, a, lda, m, b, ldb, k, accumulate)
		return
	}
	tileNEON(m, k, &a[0], 4*lda, &b[0], &c[0], 4*ldc, accumulate)
	tileNEON(m, k, &a[0], 4*lda, &b[ldb], &c[panelCols], 4*ldc, accumulate)
}

// tileHalf is tile for panels of halves.
func tileHalf(c []float32, ldc int, a []float32, lda, m int, b []uint16, ldb, k, _ int, accumulate bool) {
	if !useNEON {
		tileHalfGeneric(c, ldc, a, lda, m, b, ldb, k, accumulate)
		return
	}
	tileHalfNEON(m, k, &a[0], 4*lda, &b[0], &c[0], 4*ldc, accumulate)
	tileHalfNEON(m, k, &a[0], 4*lda, &b[ldb], &c[panelCols], 4*ldc, accumulate)
}
