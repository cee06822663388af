//go:build amd64 && !noasm

package kernels

// fewRows is how many rows tileHalfFewAVX2 takes.
const fewRows = 3

// tileAVX2 does for one panel, 16 columns, what tileAVX512 does for two.
//
//go:noescape
func tileAVX2(m, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc, ahead int, accumulate bool)

// tileAVX512 is tileGeneric, with strides in bytes and m > 0, by fused multiply-adds.
//
//go:noescape
func tileAVX512(m, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc, ahead int, accumulate bool)

//go:noescape
func tileHalfAVX2(m, k int, a *float32, lda int, b *uint16, ldb int, c *float32, ldc, ahead int, accumulate bool)

// tileHalfFewAVX2 does two panels at once, for at most fewRows rows.
//
//go:noescape
func tileHalfFewAVX2(m, k int, a *float32, lda int, b *uint16, ldb int, c *float32, ldc, ahead int, accumulate bool)

//go:noescape
func tileHalfAVX512(m, k int, a *float32, lda int, b *uint16, ldb int, c *float32, ldc, ahead int, accumulate bool)

// tile computes one tile of columns: see tileGeneric. The caller will next read what begins ahead elements behind b, a
// hint. m rows times k is at most blockRows x blockK or directRows x directK, which bounds the call to some tens of
// microseconds.
func tile(c []float32, ldc int, a []float32, lda, m int, b []float32, ldb, k, ahead int, accumulate bool) {
	switch {
	case useAVX512:
		tileAVX512(m, k, &a[0], 4*lda, &b[0], 4*ldb, &c[0], 4*ldc, 4*ahead, accumulate)
	case useAVX2:
		tileAVX2(m, k, &a[0], 4*lda, &b[0], 4*ldb, &c[0], 4*ldc, 4*ahead, accumulate)
		tileAVX2(m, k, &a[0], 4*lda, &b[ldb], 4*ldb, &c[panelCols], 4*ldc, 4*ahead, accumulate)
	default:
		tileGeneric(c, ldc, a, lda, m, b, ldb, k, accumulate)
	}
}

// tileHalf is tile for panels of halves.
func tileHalf(c []float32, ldc int, a []float32, lda, m int, b []uint16, ldb, k, ahead int, accumulate bool) {
	switch {
	case useAVX512:
		tileHalfAVX512(m, k, &a[0], 4*lda, &b[0], 2*ldb, &c[0], 4*ldc, 2*ahead, accumulate)
	case useAVX2 && m <= fewRows:
		tileHalfFewAVX2(m, k, &a[0], 4*lda, &b[0], 2*ldb, &c[0], 4*ldc, 2*ahead, accumulate)
	case useAVX2:
		tileHalfAVX2(m, k, &a[0], 4*lda, &b[0], 2*ldb, &c[0], 4*ldc, 2*ahead, accumulate)
		tileHalfAVX2(m, k, &a[0], 4*lda, &b[ldb], 2*ldb, &c[panelCols], 4*ldc, 2*ahead, accumulate)
	default:
		tileHalfGeneric(c, ldc, a, lda, m, b, ldb, k, accumulate)
	}
}
