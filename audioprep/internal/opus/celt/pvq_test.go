package celt

import (
	"fmt"
	"testing"
)

// TestReadVector: the vectors of k pulses in n places, one for each index, differ, and all
// have k pulses.
func TestReadVector(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for k := 1; k <= 7; k++ {
			seen := map[string]bool{}
			total := formsOf(n, k) + formsOf(n, k+1)
			for index := range total {
				x := make([]float32, n)
				square := readVector(x, k, index)
				sum, squares := float32(0), float32(0)
				for _, v := range x {
					sum += max(v, -v)
					squares += v * v
				}
				if sum != float32(k) || squares != square {
					t.Fatalf("%d of %d pulses in %d places: got %v, square %v", index, k, n, x, square)
				}
				seen[fmt.Sprint(x)] = true
			}
			if len(seen) != int(total) {
				t.Errorf("%d pulses in %d places: %d vectors for %d indices", k, n, len(seen), total)
			}
		}
	}
}

// TestCosts holds a few to the reference implementation's table (static_modes_float.h,
// cache_bits50).
func TestCosts(t *testing.T) {
	for _, c := range []struct {
		n      int
		counts int // indices there are
		first  []uint8
	}{
		{1, 40, []uint8{7, 7, 7}}, {2, 40, []uint8{15, 23, 28, 31, 34}}, {176, 4, []uint8{67}},
	} {
		got := costs[c.n]
		if len(got) != 1+c.counts {
			t.Errorf("%d places: got %d counts, want %d", c.n, len(got)-1, c.counts)
		}
		for i, v := range c.first {
			if got[1+i] != v {
				t.Errorf("%d places, index %d: got %d, want %d", c.n, 1+i, got[1+i], v)
			}
		}
	}
}
