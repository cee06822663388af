package kernels

import (
	"fmt"
	"slices"
	"testing"
)

// topRef sorts all indices by the rule of TopK.
func topRef(x []float32) []int32 {
	idx := make([]int32, len(x))
	for i := range idx {
		idx[i] = int32(i)
	}
	slices.SortStableFunc(idx, func(a, b int32) int {
		switch {
		case above(x[a], x[b]):
			return -1
		case above(x[b], x[a]):
			return 1
		}
		return 0
	})
	return idx
}

func TestTopK(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range append(lengths, topBlock-1, topBlock, topBlock+1, 3*topBlock+7) {
			r := rng(uint64(n))
			ties := make([]float32, n)
			for i := range ties {
				ties[i] = float32(r.IntN(5))
			}
			for name, x := range map[string][]float32{
				"normal":  normals(r, n),
				"ties":    ties,
				"special": spiked(r, n, []float32{inf, -inf, nan}),
				"-Inf":    slices.Repeat([]float32{-inf}, n),
				"NaN":     slices.Repeat([]float32{nan}, n),
				"mostly":  slices.Concat(slices.Repeat([]float32{nan}, n/2), slices.Repeat([]float32{-inf}, n-n/2)),
			} {
				x = guarded(t, x)
				want := topRef(x)
				for _, k := range []int{0, 1, 2, 5, 10, n} {
					if k > n || k > 1000 {
						continue
					}
					idx, val := make([]int32, k), make([]float32, k)
					TopK(x, k, idx, val)
					if !slices.Equal(idx, want[:k]) {
						t.Fatalf("%s n %d k %d: %v, want %v", name, n, k, idx, want[:k])
					}
					for i, j := range idx {
						if val[i] != x[j] && x[j] == x[j] {
							t.Fatalf("%s n %d k %d: value %v of index %d, want %v", name, n, k, val[i], j, x[j])
						}
					}
				}
				at := -1
				if n > 0 {
					at = int(want[0])
				}
				if name == "mostly" && n > 1 {
					at = n / 2
				}
				if got := ArgMax(x); got != at {
					t.Fatalf("%s: ArgMax of %d = %d, want %d", name, n, got, at)
				}
			}
		}
	})
}

// TestArgMaxEverywhere moves the maximum and a later equal through every place of a vocabulary's tail.
func TestArgMaxEverywhere(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		x := normals(rng(1), 1100)
		for i := range x {
			y := slices.Clone(x)
			y[i], y[len(y)-1] = 9, 9
			if got := ArgMax(y); got != i {
				t.Fatalf("ArgMax = %d, want %d", got, i)
			}
		}
	})
}

func BenchmarkArgMax(b *testing.B) {
	for _, tier := range tiers {
		b.Run(fmt.Sprintf("%s/51865", tier), func(b *testing.B) {
			defer setTier(tierName)
			useTier(b, tier)
			x := normals(rng(1), 51865)
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				ArgMax(x)
			}
		})
	}
}
