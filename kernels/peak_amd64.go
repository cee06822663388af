//go:build amd64 && !noasm

package kernels

// The loops below run n rounds of 12 independent multiply-adds of a vector: the most that a benchmark can reach. Those
// of I8 multiply bytes, that of sevens adds two vectors of bytes' products at once.

func peakAVX2(n int)

func peakAVX512(n int)

func peakSevensAVX2(n int)

func peakI8AVX2VNNI(n int)

func peakI8AVX512VNNI(n int)

func peakPairsAVX512(n int)

// peak runs n rounds on the tier in use and returns how many operations that were.
func peak(n int) (flops int) {
	switch {
	case useAVX512:
		peakAVX512(n)
		return 2 * 12 * 16 * n
	case useAVX2:
		peakAVX2(n)
		return 2 * 12 * 8 * n
	}
	return 0
}

// peakPairs is peak for products of bfloat16.
func peakPairs(n int) (flops int) {
	if !useBF16 {
		return 0
	}
	peakPairsAVX512(n)
	return 2 * 12 * 32 * n
}

// peakIntegers is peak for the integers of fine rows.
func peakIntegers(n int) (operations int) {
	switch {
	case useVNNI512:
		peakI8AVX512VNNI(n)
		return 2 * 12 * 64 * n
	case useVNNI:
		peakI8AVX2VNNI(n)
		return 2 * 12 * 32 * n
	case useAVX2:
		peakSevensAVX2(n)
		return 2 * 12 * 64 * n
	}
	return 0
}
