package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestRefine has the greatest sums come out as exact as weights of 16 bits allow, and leaves the others as they were.
func TestRefine(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, c := range []struct{ n, k int }{{1, 1}, {refined, 8}, {300, 70}, {1100, 64}} {
			w, x, bias := normals(rng(1), c.n*c.k), normals(rng(2), c.k), normals(rng(3), c.n)
			p := PackI8(w, c.n, c.k, true, true)
			sums := make([]float32, c.n)
			MatMulI8(sums, c.n, quantised(x, 1, c.k, true), 0, 1, p, 0, c.n, Epilogue{Bias: bias})
			got := guarded(t, slices.Clone(sums))
			p.Refine(got, guarded(t, x), bias, new(RefineI8Work))

			sorted := slices.Sorted(slices.Values(sums))
			least := sorted[max(0, c.n-refined)]
			for i, v := range sums {
				if v < least {
					if got[i] != v {
						t.Errorf("%dx%d: sum %d of %g became %g", c.n, c.k, i, v, got[i])
					}
					continue
				}
				exact, most := float64(bias[i]), 0.0
				for j, a := range x {
					exact += float64(a) * float64(w[i*c.k+j])
					most += max(float64(a), -float64(a))
				}
				// Half a step of each weight's rest, and float32's rounding.
				near(t, fmt.Sprintf("%dx%d: sum %d", c.n, c.k, i), got[i:i+1], []float64{exact}, most*float64(p.scale[i])*0.502/restSteps+1e-5, 0)
			}
		}
	})
}

// TestRefineNaN keeps a row that holds no number from giving any.
func TestRefineNaN(t *testing.T) {
	p, x, sums := PackI8(normals(rng(1), 40*8), 40, 8, true, true), normals(rng(2), 8), make([]float32, 40)
	x[3] = float32(math.NaN())
	MatMulI8(sums, 40, quantised(x, 1, 8, true), 0, 1, p, 0, 40, Epilogue{})
	p.Refine(sums, x, nil, new(RefineI8Work))
	for i, v := range sums {
		if v == v {
			t.Errorf("sum %d is %g", i, v)
		}
	}
}

func TestRefinePanics(t *testing.T) {
	x, dst, w := make([]float32, 8), make([]float32, 40), new(RefineI8Work)
	p := PackI8(make([]float32, 40*8), 40, 8, true, true)
	for name, f := range map[string]func(){
		"no rest":    func() { PackI8(make([]float32, 40*8), 40, 8, true, false).Refine(dst, x, nil, w) },
		"short x":    func() { p.Refine(dst, x[:7], nil, w) },
		"short dst":  func() { p.Refine(dst[:39], x, nil, w) },
		"short bias": func() { p.Refine(dst, x, dst[:39], w) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
