//go:build (!amd64 && !arm64) || noasm

package kernels

// multipliesPairs says whether tiles multiply bfloat16, in pairs.
func multipliesPairs() bool { return true }

func toPairsRows(dst []uint32, src []float32) { toPairsGeneric(dst, src) }

func fromPairsRows(dst []float32, src []uint32) { fromPairsGeneric(dst, src) }

func roundPairs(dst []uint32, src []float32) { roundPairsGeneric(dst, src) }

func tilePairs(c []float32, ldc int, a []uint32, lda, m int, b []uint32, ldb, k, _ int, accumulate bool) {
	tilePairsGeneric(c, ldc, a, lda, m, b, ldb, k, accumulate)
}
