//go:build amd64 && !noasm

package kernels

// The kernels below are those of bf16_generic.go, rows and blocks being of 16 numbers or pairs and more than none.

//go:noescape
func toPairsAVX2(dst *uint32, src *float32, rows int)

//go:noescape
func fromPairsAVX2(dst *float32, src *uint32, rows int)

//go:noescape
func fromPairsAVX512(dst *float32, src *uint32, rows int)

// roundPairsAVX512 makes numbers below float32's normal ones zero.
//
//go:noescape
func roundPairsAVX512(dst *uint32, src *float32, blocks int)

// tilePairsAVX512 is tilePairsGeneric, with strides in bytes and m > 0. Sums and products below float32's normal
// numbers are zero.
//
//go:noescape
func tilePairsAVX512(m, k int, a *uint32, lda int, b *uint32, ldb int, c *float32, ldc, ahead int, accumulate bool)

// multipliesPairs says whether tiles multiply bfloat16, in pairs.
func multipliesPairs() bool { return useBF16 || !useAVX2 }

func toPairsRows(dst []uint32, src []float32) {
	if rows := len(dst) / panelCols; useAVX2 && rows > 0 {
		toPairsAVX2(&dst[0], &src[0], rows)
		return
	}
	toPairsGeneric(dst, src)
}

func fromPairsRows(dst []float32, src []uint32) {
	switch rows := len(src) / panelCols; {
	case rows == 0:
	case useAVX512:
		fromPairsAVX512(&dst[0], &src[0], rows)
	case useAVX2:
		fromPairsAVX2(&dst[0], &src[0], rows)
	default:
		fromPairsGeneric(dst, src)
	}
}

func roundPairs(dst []uint32, src []float32) {
	if blocks := len(src) / panelCols; useBF16 && blocks > 0 {
		roundPairsAVX512(&dst[0], &src[0], blocks)
		dst, src = dst[blocks*panelCols/2:], src[blocks*panelCols:]
	}
	roundPairsGeneric(dst, src)
}

// tilePairs computes one tile of columns. m rows times k is at most blockRows x blockK/2 or directRows x directK/2,
// which bounds the call to some tens of microseconds.
func tilePairs(c []float32, ldc int, a []uint32, lda, m int, b []uint32, ldb, k, ahead int, accumulate bool) {
	if useBF16 {
		tilePairsAVX512(m, k, &a[0], 4*lda, &b[0], 4*ldb, &c[0], 4*ldc, 4*ahead, accumulate)
		return
	}
	tilePairsGeneric(c, ldc, a, lda, m, b, ldb, k, accumulate)
}
