package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// softmaxRef returns the softmax and the log of the sum of exponentials.
func softmaxRef(x []float32) (p []float64, lse float64) {
	m := math.Inf(-1)
	for _, v := range x {
		m = max(m, float64(v))
	}
	var sum float64
	p = make([]float64, len(x))
	for i, v := range x {
		p[i] = math.Exp(float64(v) - m)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p, m + math.Log(sum)
}

// expEdges are scores from which a softmax stays finite.
var expEdges = []float32{float32(math.Inf(-1)), -3e38, -200, -104, -88, -87.5, -86.5, 0, 30}

func TestSoftmax(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		Softmax(nil)
		for _, n := range append(lengths[1:], maxElems+5, 51865) {
			x := spiked(rng(uint64(n)), n, expEdges)
			x[n/2] = 1 // not -Inf only
			want, lse := softmaxRef(x)
			got := guarded(t, x)
			m, l := LogSumExp(got)
			near(t, fmt.Sprint("LogSumExp ", n), []float32{m, l}, []float64{float64(slices.Max(x)), lse}, 1e-6, 1e-6)
			Softmax(got)
			// The difference from the maximum, up to 87 before exp is cut, rounds by 2^-24 of itself.
			near(t, fmt.Sprint("Softmax ", n), got, want, 2e-37, 6e-6)
			for i, v := range x {
				if v == -inf && got[i] != 0 {
					t.Fatalf("n %d: exp(-Inf) = %v", n, got[i])
				}
			}
		}
	})
}

// TestSoftmaxHuge checks scores whose products with 1 round by more than exp can bear.
func TestSoftmaxHuge(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		x := slices.Repeat([]float32{3e38, -3e38, 3e38, 1e30}, 9)
		want, _ := softmaxRef(x)
		Softmax(x)
		near(t, "huge", x, want, 0, 1e-6)
		y := slices.Repeat([]float32{1e10}, 33)
		if s := expSum(y, 1e10, 0.125); s != 33 {
			t.Errorf("sum of exp((1e10-1e10)/8) = %v, want 33", s)
		}
	})
}

func TestSoftmaxSpecial(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range []int{1, 5, 16, 37, 70} {
			all := slices.Repeat([]float32{-inf}, n)
			if m, l := LogSumExp(all); m != -inf || l != -inf {
				t.Errorf("n %d: LogSumExp of -Inf only = %v, %v", n, m, l)
			}
			Softmax(all)
			near(t, "-Inf only", all, slices.Repeat([]float64{math.NaN()}, n), 0, 0)
			bad := make([]float32, n)
			bad[n/2] = nan
			if _, l := LogSumExp(bad); l == l {
				t.Errorf("n %d: LogSumExp with a NaN = %v", n, l)
			}
			Softmax(bad)
			near(t, "NaN", bad, slices.Repeat([]float64{math.NaN()}, n), 0, 0)
			big := make([]float32, n)
			big[n/2] = inf
			if m, l := LogSumExp(big); m != inf || l != inf {
				t.Errorf("n %d: LogSumExp with +Inf = %v, %v", n, m, l)
			}
		}
		if m, l := LogSumExp(nil); m != -inf || l != -inf {
			t.Errorf("LogSumExp(nil) = %v, %v", m, l)
		}
		if _, l := LogSumExp([]float32{-inf, nan}); l == l {
			t.Errorf("LogSumExp of -Inf and NaN = %v", l)
		}
	})
}

// TestExp sweeps exp itself over its whole range, through the difference that softmax takes.
func TestExp(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		var worst float64
		x, want := make([]float32, 4096), make([]float64, 4096)
		for start := float64(expCut); start < 0; start++ {
			for i := range x {
				x[i] = float32(start + float64(i)/4096)
				want[i] = math.Exp(float64(x[i]))
			}
			expSum(x, 0, 1)
			for i, w := range want {
				worst = max(worst, math.Abs(float64(x[i])/w-1))
			}
		}
		t.Logf("greatest relative error %.2g", worst)
		if worst > 1e-7 {
			t.Errorf("relative error %.2g, want 1e-7", worst)
		}
	})
}

func BenchmarkSoftmax(b *testing.B) {
	for _, tier := range tiers {
		for _, n := range []int{1500, 51865} {
			b.Run(fmt.Sprintf("%s/%d", tier, n), func(b *testing.B) {
				defer setTier(tierName)
				useTier(b, tier)
				src := normals(rng(1), n)
				x := make([]float32, n)
				b.SetBytes(int64(4 * n))
				for b.Loop() {
					copy(x, src)
					Softmax(x)
				}
			})
		}
	}
}

func TestWeights(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range lengths[1:] {
			x := guarded(t, normals(rng(uint64(n)), n))
			for i := range x {
				x[i] *= 30
			}
			most, want, total := float64(slices.Max(x)), make([]float64, n), 0.0
			for i, v := range x {
				want[i] = math.Exp((float64(v) - most) * 0.7)
				total += want[i]
			}
			sum := weights(x, 0.7)
			near(t, fmt.Sprint(n), x, want, 1e-36, 1e-5)
			near(t, fmt.Sprint(n, " sum"), []float32{sum}, []float64{total}, 0, 1e-5)
		}
		row := []float32{nan, nan, nan}
		near(t, "NaN", []float32{weights(row, 1)}, []float64{math.NaN()}, 0, 0)
	})
}
