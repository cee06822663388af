package kernels

import (
	"runtime"
	"time"
)

// PeakFLOPS measures for about d what one thread can do at most: float32 additions and multiplications a second, of fused multiply-adds
// that need no memory, in the registers of the tier in use. It is 0 for the generic tier, which has no such instruction to count.
func PeakFLOPS(d time.Duration) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const rounds = 10_000 // some tens of microseconds
	best := 0.0
	for end := time.Now().Add(d); time.Now().Before(end); {
		begin := time.Now()
		flops := peak(rounds)
		if flops == 0 {
			return 0
		}
		best = max(best, float64(flops)/time.Since(begin).Seconds())
	}
	return best
}
