package kernels

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time that the thread has used, which other work on the machine disturbs less than the
// clock.
func threadTime(tb testing.TB) time.Duration {
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(used.Nano())
}

// BenchmarkShare measures products of the encoder's shapes as a share of what the tier does in registers, by the
// fastest of some runs of each, in turns. bf16 is a share of float32's where its weights are made float32. Integers
// include the making of them.
//
//	go test -run '^$' -bench Share -benchtime 1x ./kernels
func BenchmarkShare(b *testing.B) {
	for _, tier := range tiers[1:] {
		for _, c := range []struct{ m, n, k int }{
			{1500, 384, 384}, {1500, 1536, 384}, {1500, 384, 1536}, {1500, 512, 512}, {1500, 2048, 512}, {1500, 512, 2048},
		} {
			weights, x := normals(rng(1), c.n*c.k), outliers(2, c.m, c.k)
			dst, bias, q := make([]float32, c.m*c.n), make([]float32, c.n), new(Quantised)
			for _, numbers := range []string{"f32", "bf16", "integers"} {
				b.Run(fmt.Sprintf("%s/%dx%dx%d/%s", tier, c.m, c.n, c.k, numbers), func(b *testing.B) {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					defer setTier(tierName)
					useTier(b, tier)
					var most func(n int) int
					var run func()
					if numbers == "integers" {
						w := PackI8(weights, c.n, c.k, true, false)
						most, run = peakIntegers, func() {
							q.Reset(c.m, c.k, true)
							q.Quantise(0, x, c.k, c.m)
							MatMulI8(dst, c.n, q, 0, c.m, w, 0, c.n, Epilogue{Bias: bias})
						}
					} else {
						w := PackF32(weights, c.n, c.k)
						most = peak
						if numbers == "bf16" {
							w = PackBF16(weights, c.n, c.k)
						}
						if w.InBF16() {
							most = peakPairs
						}
						run = func() { MatMul(dst, c.n, x, c.k, c.m, w, 0, c.n, Epilogue{Bias: bias}) }
					}
					for b.Loop() {
						reportShare(b, most, run, 2*c.m*c.n*c.k)
					}
				})
			}
		}
	}
}

// reportShare times what runs operations, and rounds of the tier's peak as long.
func reportShare(b *testing.B, peak func(n int) int, run func(), operations int) {
	const turns, rounds = 40, 100_000
	fastest, counted := [2]float64{math.Inf(1), math.Inf(1)}, 0
	for range turns {
		begin := threadTime(b)
		counted = peak(rounds)
		middle := threadTime(b)
		run()
		fastest[0], fastest[1] = min(fastest[0], (middle-begin).Seconds()), min(fastest[1], (threadTime(b)-middle).Seconds())
	}
	if counted == 0 {
		b.Skip("nothing to be a share of")
	}
	rate, most := float64(operations)/fastest[1]/1e9, float64(counted)/fastest[0]/1e9
	b.ReportMetric(rate, "GOP/s")
	b.ReportMetric(most, "peak-GOP/s")
	b.ReportMetric(100*rate/most, "%-of-peak")
}
