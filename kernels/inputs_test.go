package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

// lengths stands around every vector width and unrolled body of the kernels.
var lengths = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 47, 48, 49, 63, 64, 65, 80, 95, 96, 97, 127, 128, 129, 255, 257, 1000, 4099}

// edges are values that arithmetic may treat specially.
var edges = []float32{0, float32(math.Copysign(0, -1)), 1e-45, -1e-45, 1e-38, -1e-38, 1, -1, 87, -87, 88.5, -88.5, 104, -104, 3e38, -3e38}

// normals returns n values of the standard normal distribution.
func normals(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// spiked returns normals with one value in eight replaced by one of vals.
func spiked(r *rand.Rand, n int, vals []float32) []float32 {
	x := normals(r, n)
	for i := range x {
		if r.IntN(8) == 0 {
			x[i] = vals[r.IntN(len(vals))]
		}
	}
	return x
}

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// near reports each got that is further from want than abs + rel*|want|. NaN and infinities must be the same.
func near(t *testing.T, what string, got []float32, want []float64, abs, rel float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		g := float64(got[i])
		if math.IsNaN(w) && math.IsNaN(g) || g == w || math.IsInf(float64(float32(w)), 0) && g == float64(float32(w)) {
			continue
		}
		if !(math.Abs(g-w) <= abs+rel*math.Abs(w)) {
			t.Fatalf("%s: [%d] = %g, want %g (error %.3g)", what, i, g, w, g-w)
		}
	}
}

// sameBits reports the first element whose bits differ.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if math.Float32bits(got[i]) != math.Float32bits(w) {
			t.Fatalf("%s: [%d] = %v (%#x), want the bits of %v (%#x)", what, i, got[i], math.Float32bits(got[i]), w, math.Float32bits(w))
		}
	}
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
