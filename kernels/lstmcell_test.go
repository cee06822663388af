package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestLSTMCell(t *testing.T) {
	sigmoid := func(x float32) float64 { return 1 / (1 + math.Exp(-float64(x))) }
	eachTier(t, func(t *testing.T) {
		for _, n := range append(lengths, maxElems/8+1) {
			r := rng(uint64(n))
			gates := guarded(t, spiked(r, 4*n, []float32{0, 1e-5, -1e-5, 20, -20, 200, -200, 3e38, -3e38}))
			c, h := guarded(t, normals(r, n)), guarded(t, make([]float32, n))
			wantC, wantH := make([]float64, n), make([]float64, n)
			for i := range n {
				wantC[i] = sigmoid(gates[n+i])*float64(c[i]) + sigmoid(gates[i])*math.Tanh(float64(gates[2*n+i]))
				wantH[i] = sigmoid(gates[3*n+i]) * math.Tanh(wantC[i])
			}
			LSTMCell(h, c, gates)
			near(t, fmt.Sprint("c of ", n), c, wantC, 3e-7, 3e-7)
			near(t, fmt.Sprint("h of ", n), h, wantH, 4e-7, 0)
		}
	})
}

// TestLSTMCellPosition holds the vector tails to the bits of the vector bodies.
func TestLSTMCellPosition(t *testing.T) {
	const most = 100
	eachTier(t, func(t *testing.T) {
		r := rng(5)
		gates, start := normals(r, 4*most), normals(r, most)
		wantC, wantH := slices.Clone(start), make([]float32, most)
		LSTMCell(wantH, wantC, gates)
		for n := 1; n < most; n++ {
			var part []float32
			for g := range 4 {
				part = append(part, gates[g*most:][:n]...)
			}
			c, h := slices.Clone(start[:n]), make([]float32, n)
			LSTMCell(h, c, part)
			sameBits(t, fmt.Sprint("c of ", n), c, wantC[:n])
			sameBits(t, fmt.Sprint("h of ", n), h, wantH[:n])
		}
	})
}

// BenchmarkLSTMCell has the width of parakeet-tdt's prediction network.
func BenchmarkLSTMCell(b *testing.B) {
	const n = 640
	for _, tier := range tiers {
		b.Run(tier, func(b *testing.B) {
			defer setTier(tierName)
			useTier(b, tier)
			gates, c, h := normals(rng(1), 4*n), normals(rng(2), n), make([]float32, n)
			b.SetBytes(4 * n)
			for b.Loop() {
				LSTMCell(h, c, gates)
			}
		})
	}
}
