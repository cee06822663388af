package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestGate(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range append(lengths, maxElems+1) {
			r := rng(uint64(n))
			x, gate := guarded(t, normals(r, n)), guarded(t, spiked(r, n, append([]float32{inf, -inf, nan}, edges...)))
			want := make([]float64, n)
			for i := range want {
				want[i] = float64(x[i]) / (1 + math.Exp(-float64(gate[i])))
			}
			got := guarded(t, make([]float32, n))
			Gate(got, x, gate)
			near(t, fmt.Sprint(n), got, want, 1e-36, 5e-7) // exp is cut to zero below 1e-38
			inX, inGate := slices.Clone(x), slices.Clone(gate)
			Gate(inX, inX, gate)
			sameBits(t, fmt.Sprint(n, " into x"), inX, got)
			Gate(inGate, x, inGate)
			sameBits(t, fmt.Sprint(n, " into gate"), inGate, got)
		}
	})
}

// TestGatePosition holds the vector tails to the bits of the vector bodies.
func TestGatePosition(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		x, gate := normals(rng(3), 150), normals(rng(4), 150)
		want := make([]float32, len(x))
		Gate(want, x, gate)
		for cut := range x {
			got := make([]float32, len(x))
			Gate(got[:cut], x[:cut], gate[:cut])
			Gate(got[cut:], x[cut:], gate[cut:])
			sameBits(t, fmt.Sprint("cut at ", cut), got, want)
		}
	})
}

func TestActivate(t *testing.T) {
	x := []float32{-1, 2}
	Activate(ActReLU, x)
	if !slices.Equal(x, []float32{0, 2}) {
		t.Errorf("got %v", x)
	}
}

func BenchmarkGate(b *testing.B) {
	for _, tier := range tiers {
		b.Run(tier, func(b *testing.B) {
			defer setTier(tierName)
			useTier(b, tier)
			x, gate, dst := normals(rng(1), 8192), normals(rng(2), 8192), make([]float32, 8192)
			b.SetBytes(int64(4 * len(dst)))
			for b.Loop() {
				Gate(dst, x, gate)
			}
		})
	}
}
