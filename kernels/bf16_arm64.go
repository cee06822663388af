//go:build arm64 && !noasm

package kernels

// fromPairsNEON is fromPairsGeneric for rows of 16 pairs, rows > 0.
//
//go:noescape
func fromPairsNEON(dst *float32, src *uint32, rows int)

// multipliesPairs says whether tiles multiply bfloat16, in pairs.
func multipliesPairs() bool { return !useNEON }

func toPairsRows(dst []uint32, src []float32) { toPairsGeneric(dst, src) }

func fromPairsRows(dst []float32, src []uint32) {
	rows := len(src) / panelCols
	if !useNEON || rows == 0 {
		fromPairsGeneric(dst, src)
		return
	}
	fromPairsNEON(&dst[0], &src[0], rows)
}

func roundPairs(dst []uint32, src []float32) { roundPairsGeneric(dst, src) }

func tilePairs(c []float32, ldc int, a []uint32, lda, m int, b []uint32, ldb, k, _ int, accumulate bool) {
	tilePairsGeneric(c, ldc, a, lda, m, b, ldb, k, accumulate)
}
