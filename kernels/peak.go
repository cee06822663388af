package kernels

import (
	"runtime"
	"time"
)

// PeakFLOPS measures for about d what one thread can do at most: float32 additions and multiplications a second, of
// fused multiply-adds that need no memory, in the registers of the tier in use. It is 0 for the generic tier, which has
// no such instruction to count.
func PeakFLOPS(d time.Duration) float64 { return peakRate(d, peak) }

// PeakIntegers is PeakFLOPS for the integers of [MatMulI8]: bytes, by whatever instructions the tier has for them. It
// is 0 for the generic tier, and for neon, whose instructions do less than that.
func PeakIntegers(d time.Duration) float64 { return peakRate(d, peakIntegers) }

// PeakBF16 is PeakFLOPS for products of bfloat16. It is 0 for tiers that multiply none: all but avx512-bf16.
func PeakBF16(d time.Duration) float64 { return peakRate(d, peakPairs) }

// peakRate is the most operations a second of what does n rounds and returns their number.
func peakRate(d time.Duration, rounds func(n int) (operations int)) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const n = 10_000 // some tens of microseconds
	best := 0.0
	for end := time.Now().Add(d); time.Now().Before(end); {
		begin := time.Now()
		operations := rounds(n)
		if operations == 0 {
			return 0
		}
		best = max(best, float64(operations)/time.Since(begin).Seconds())
	}
	return best
}
