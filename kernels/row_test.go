package kernels

import (
	"slices"
	"testing"
)

func TestRow(t *testing.T) {
	for _, c := range []struct{ n, k int }{{1, 1}, {16, 3}, {17, 5}, {33, 1}, {100, 7}} {
		w := make([]float32, c.n*c.k)
		for i := range w {
			w[i] = float32(i + 1)
		}
		p := PackF32(w, c.n, c.k)
		for n := range c.n {
			got := make([]float32, c.k+1)
			p.Row(n, got)
			if want := append(slices.Clone(w[n*c.k:][:c.k]), 0); !slices.Equal(got, want) {
				t.Errorf("row %d of %d x %d: got %v, want %v", n, c.n, c.k, got, want)
			}
		}
	}
}
