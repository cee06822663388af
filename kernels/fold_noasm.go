//go:build (!amd64 && !arm64) || noasm

package kernels

func foldQuarters(evenSum, oddSum, evenDiff, oddDiff, x, w []float32) {
	foldQuartersGeneric(evenSum, oddSum, evenDiff, oddDiff, x, w)
}
