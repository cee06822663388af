package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestActivations(t *testing.T) {
	for _, c := range []struct {
		act      Activation
		f        func(float64) float64
		abs, rel float64 // of the formula used for erf, and of exp
	}{
		{ActNone, func(x float64) float64 { return x }, 0, 0},
		{ActGELU, func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }, 5e-7, 1e-7},
		{ActReLU, func(x float64) float64 { return max(x, 0) }, 0, 0},
		{ActSiLU, func(x float64) float64 { return x / (1 + math.Exp(-x)) }, 1e-7, 5e-7},
	} {
		t.Run(c.act.String(), func(t *testing.T) {
			eachTier(t, func(t *testing.T) {
				for _, n := range lengths {
					x := spiked(rng(uint64(n)), n, append([]float32{inf, nan}, edges...))
					want := make([]float64, n)
					for i, v := range x {
						want[i] = c.f(float64(v))
					}
					got := guarded(t, x)
					activate(c.act, got)
					near(t, fmt.Sprint(n), got, want, c.abs, c.rel)
				}
				x := []float32{-inf}
				activate(c.act, x)
				if (c.act == ActReLU || c.act == ActGELU) && x[0] != 0 {
					t.Errorf("of -Inf = %v", x[0])
				}
			})
		})
	}
}

// TestGELUSweep looks at every 1/512 from -12 to 12, where the function bends.
func TestGELUSweep(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		var x []float32
		var want []float64
		for i := -12 * 512; i <= 12*512; i++ {
			v := float64(i) / 512
			x, want = append(x, float32(v)), append(want, 0.5*v*(1+math.Erf(v/math.Sqrt2)))
		}
		GELU(x)
		var worst float64
		for i, w := range want {
			worst = max(worst, math.Abs(float64(x[i])-w))
		}
		t.Logf("greatest error %.2g", worst)
		near(t, "gelu", x, want, 5e-7, 1e-7)
	})
}

// TestActivationPosition holds the vector tails to the bits of the vector bodies.
func TestActivationPosition(t *testing.T) {
	for act := ActGELU; act <= ActSiLU; act++ {
		t.Run(act.String(), func(t *testing.T) {
			eachTier(t, func(t *testing.T) {
				x := spiked(rng(9), maxElems+100, edges)
				want := slices.Clone(x)
				activate(act, want)
				for n := 1; n <= 70; n++ {
					got := slices.Clone(x)
					for i := 0; i < 2*n; i += n {
						activate(act, got[i:i+n])
					}
					activate(act, got[2*n:])
					sameBits(t, fmt.Sprintf("in pieces of %d", n), got, want)
				}
			})
		})
	}
}

func BenchmarkGELU(b *testing.B) {
	for _, tier := range tiers {
		b.Run(tier, func(b *testing.B) {
			defer setTier(tierName)
			useTier(b, tier)
			src := normals(rng(1), 8192)
			x := make([]float32, len(src))
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				copy(x, src)
				GELU(x)
			}
		})
	}
}
