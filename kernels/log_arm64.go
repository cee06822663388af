//go:build arm64 && !noasm

package kernels

// logNEON is logGeneric for n elements, a multiple of four.
//
//go:noescape
func logNEON(x *float32, n int)

func logPart(x []float32) {
	if !useNEON {
		logGeneric(x)
		return
	}
	inPlace(x, logNEON)
}
