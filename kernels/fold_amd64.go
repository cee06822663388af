//go:build amd64 && !noasm

package kernels

// foldQuartersAVX2 and foldQuartersAVX512 are foldQuartersGeneric for quarters of at least a vector.

//go:noescape
func foldQuartersAVX2(evenSum, oddSum, evenDiff, oddDiff, x, w *float32, q int)

//go:noescape
func foldQuartersAVX512(evenSum, oddSum, evenDiff, oddDiff, x, w *float32, q int)

func foldQuarters(evenSum, oddSum, evenDiff, oddDiff, x, w []float32) {
	switch {
	case useAVX512:
		foldQuartersAVX512(&evenSum[0], &oddSum[0], &evenDiff[0], &oddDiff[0], &x[0], &w[0], len(evenSum))
	case useAVX2:
		foldQuartersAVX2(&evenSum[0], &oddSum[0], &evenDiff[0], &oddDiff[0], &x[0], &w[0], len(evenSum))
	default:
		foldQuartersGeneric(evenSum, oddSum, evenDiff, oddDiff, x, w)
	}
}
