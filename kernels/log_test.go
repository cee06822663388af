package kernels

import (
	"fmt"
	"math"
	"testing"
)

func TestLog(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range append(lengths, maxElems+1) {
			r := rng(uint64(n))
			x, want := guarded(t, make([]float32, n)), make([]float64, n)
			for i := range x {
				x[i] = float32(math.Exp(r.NormFloat64() * 20))
				if r.IntN(8) == 0 {
					x[i] = []float32{1, 1.2e-38, 3e38, inf, nan, math.Sqrt2, math.Sqrt2 / 2, 1 + 1e-6, 1 - 1e-6}[r.IntN(9)]
				}
				want[i] = math.Log(float64(x[i])) + float64(x[i]-x[i])
			}
			Log(x)
			near(t, fmt.Sprint(n), x, want, 2e-7, 2e-7)
		}
	})
}

// TestLogSweep looks at every 1/4096 of an octave.
func TestLogSweep(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		var x []float32
		var want []float64
		for i := range 4096 {
			v := float32(0.6 + float64(i)/4096)
			x, want = append(x, v), append(want, math.Log(float64(v)))
		}
		Log(x)
		near(t, "log", x, want, 1e-7, 2e-7)
	})
}

func BenchmarkLog(b *testing.B) {
	for _, tier := range tiers {
		b.Run(tier, func(b *testing.B) {
			defer setTier(tierName)
			useTier(b, tier)
			x := make([]float32, 8192)
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				for i := range x {
					x[i] = 7
				}
				Log(x)
			}
		})
	}
}
