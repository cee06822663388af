//go:build arm64 && !noasm

package kernels

// peakNEON runs n rounds of 24 independent multiply-adds of a vector: the most that a benchmark can reach.
func peakNEON(n int)

// peakI8NEONDot is peakNEON for SDOT.
func peakI8NEONDot(n int)

// peak runs n rounds on the tier in use and returns how many operations that were.
func peak(n int) (flops int) {
	if !useNEON {
		return 0
	}
	peakNEON(n)
	return 2 * 24 * 4 * n
}

// peakPairs is peak for products of bfloat16, of which no tier has any.
func peakPairs(int) (flops int) { return 0 }

// peakIntegers is peak for bytes.
func peakIntegers(n int) (operations int) {
	if !useDot {
		return 0
	}
	peakI8NEONDot(n)
	return 2 * 24 * 16 * n
}
