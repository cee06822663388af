package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestAdd(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range lengths {
			r := rng(uint64(n))
			a, b := guarded(t, spiked(r, n, append([]float32{inf, nan}, edges...))), guarded(t, spiked(r, n, edges))
			want := make([]float32, n)
			for i := range want {
				want[i] = a[i] + b[i]
			}
			got := guarded(t, make([]float32, n))
			Add(got, a, b)
			near(t, fmt.Sprint(n), got, wide(want), 0, 0)
			inA, inB := slices.Clone(a), slices.Clone(b)
			Add(inA, inA, b)
			near(t, fmt.Sprint(n, " into a"), inA, wide(want), 0, 0)
			Add(inB, a, inB)
			near(t, fmt.Sprint(n, " into b"), inB, wide(want), 0, 0)
		}
	})
}

func TestScale(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range lengths {
			x := spiked(rng(uint64(n)), n, append([]float32{inf, nan}, edges...))
			got := guarded(t, x)
			Scale(got, -1.7)
			for i := range x {
				x[i] *= -1.7
			}
			near(t, fmt.Sprint(n), got, wide(x), 0, 0)
		}
	})
}

func TestAxpy(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range append(lengths, maxElems, maxElems+1) {
			r := rng(uint64(n))
			x, d := guarded(t, normals(r, n)), guarded(t, normals(r, n))
			want := make([]float64, n)
			for i := range want {
				want[i] = float64(d[i]) + 0.3*float64(x[i])
			}
			Axpy(d, 0.3, x)
			near(t, fmt.Sprint(n), d, want, 2e-7, 2e-7)
		}
	})
}

func TestDot(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range append(lengths, maxElems, maxElems+1) {
			r := rng(uint64(n))
			a, b := guarded(t, normals(r, n)), guarded(t, normals(r, n))
			var want, size float64
			for i := range a {
				want += float64(a[i]) * float64(b[i])
				size += math.Abs(float64(a[i]) * float64(b[i]))
			}
			near(t, fmt.Sprint(n), []float32{Dot(a, b)}, []float64{want}, 1e-6*size, 0)
			if n > 2 {
				near(t, "unaligned", []float32{Dot(a[1:], b[1:])}, []float64{want - float64(a[0])*float64(b[0])}, 1e-6*size, 0)
			}
		}
		near(t, "NaN", []float32{Dot([]float32{1, nan, 2}, []float32{1, 1, 1})}, []float64{math.NaN()}, 0, 0)
	})
}

func TestAddSquares(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range append(lengths, maxElems+1) {
			r := rng(uint64(n))
			a, b := guarded(t, normals(r, n)), guarded(t, normals(r, n))
			want := make([]float64, n)
			for i := range want {
				want[i] = float64(a[i])*float64(a[i]) + float64(b[i])*float64(b[i])
			}
			got := guarded(t, make([]float32, n))
			AddSquares(got, a, b)
			near(t, fmt.Sprint(n), got, want, 0, 2e-7)
		}
	})
}

func TestRaise(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range append(lengths, maxElems+1) {
			x := guarded(t, spiked(rng(uint64(n)), n, []float32{inf, -inf, nan, -3}))
			want := make([]float64, n)
			for i, v := range x {
				want[i] = max(float64(v), -1.5)*0.25 + 1
			}
			Raise(x, -1.5, 0.25, 1)
			near(t, fmt.Sprint(n), x, want, 1e-7, 2e-7)
		}
	})
}

func TestVectorPanics(t *testing.T) {
	x, y := make([]float32, 3), make([]float32, 4)
	for name, f := range map[string]func(){
		"AddSquares a": func() { AddSquares(x, y, x) }, "AddSquares b": func() { AddSquares(x, x, y) },
		"Add a": func() { Add(x, y, x) }, "Add b": func() { Add(x, x, y) }, "Axpy": func() { Axpy(x, 1, y) }, "Dot": func() { Dot(x, y) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic for unequal lengths")
				}
			}()
			f()
		})
	}
}
