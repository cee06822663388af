//go:build amd64 && !noasm

package kernels

// peakAVX2 and peakAVX512 run n rounds of 12 independent multiply-adds of a vector: the most that a benchmark can reach.

func peakAVX2(n int)

func peakAVX512(n int)

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
