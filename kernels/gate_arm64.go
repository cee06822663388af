//go:build arm64 && !noasm

package kernels

// gateNEON is gateGeneric, y being the gate, for n elements, a multiple of four.
//
//go:noescape
func gateNEON(dst, x, y *float32, n int)

func gateBy(dst, x, gate []float32) {
	if !useNEON {
		gateGeneric(dst, x, gate)
		return
	}
	pairwise(dst, x, gate, gateNEON)
}
