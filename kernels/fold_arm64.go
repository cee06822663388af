//go:build arm64 && !noasm

package kernels

// foldQuartersNEON is foldQuartersGeneric for quarters of at least a vector.
//
//go:noescape
func foldQuartersNEON(evenSum, oddSum, evenDiff, oddDiff, x, w *float32, q int)

func foldQuarters(evenSum, oddSum, evenDiff, oddDiff, x, w []float32) {
	if !useNEON {
		foldQuartersGeneric(evenSum, oddSum, evenDiff, oddDiff, x, w)
		return
	}
	foldQuartersNEON(&evenSum[0], &oddSum[0], &evenDiff[0], &oddDiff[0], &x[0], &w[0], len(evenSum))
}
