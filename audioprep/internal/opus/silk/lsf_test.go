package silk

import (
	"math/rand/v2"
	"testing"
)

// TestStabilize: whatever the indices, frequencies keep their distances, and the filter
// they make is stable.
func TestStabilize(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		b := narrowBook
		if rng.IntN(2) == 1 {
			b = wideBook
		}
		x := indices{first: rng.IntN(len(b.first))}
		for i := range b.order {
			x.residual[i] = int32(rng.IntN(21) - 10)
		}
		v := b.dequantize(&x)
		last := int32(0)
		for i, f := range append(v[:b.order:b.order], 1<<15) {
			if f-last < b.spacingQ15[i] {
				t.Fatalf("%v: frequency %d is %d, the one before %d", x, i, f, last)
			}
			last = f
		}
		if a := b.filter(&v); a.inverseGain(b.order) == 0 {
			t.Fatalf("%v: the filter %v is not stable", x, a)
		}
	}
}

// TestWeights holds a few to the reference implementation's table (tables_NLSF_CB_WB.c,
// silk_NLSF_CB1_WB_Wght_Q9).
func TestWeights(t *testing.T) {
	for i, want := range []int32{3657, 2925, 2925, 2925, 2925, 2925, 2925, 2925, 2925, 2925, 2925, 2925, 2963, 2963, 2925, 2846} {
		if got := wideBook.weightsQ9[0][i]; got != want {
			t.Errorf("weight %d: got %d, want %d", i, got, want)
		}
	}
}
