package cpu

import (
	"fmt"
	"slices"
	"testing"

	"hark/engine"
)

// product is act(x wᵀ + bias) + residual, the last two nil for none.
func product(x, w matrix, bias []float64, act engine.Activation, residual matrix) matrix {
	out := newMatrix(len(x), len(w))
	for i := range x {
		for n := range w {
			var s float64
			for k := range x[i] {
				s += x[i][k] * w[n][k]
			}
			if bias != nil {
				s += bias[n]
			}
			if act == engine.GELU {
				s = gelu(s)
			}
			if residual != nil {
				s += residual[i][n]
			}
			out[i][n] = s
		}
	}
	return out
}

func TestLinear(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		r := rng()
		for _, c := range []struct{ m, n, k int }{{1, 1, 1}, {1, 200, 33}, {3, 7, 5}, {5, 700, 64}, {16, 64, 100}, {97, 130, 17}, {200, 65, 40}, {0, 8, 8}} {
			t.Run(fmt.Sprint(c), func(t *testing.T) {
				x, w, bias, residual := random(r, c.m, c.k), random(r, c.n, c.k), random(r, 1, c.n), random(r, c.m, c.n)
				tx := put(t, d, x, c.k)
				plain := must(d.NewLinear(w.flat(), nil, c.n, c.k))
				biased := must(d.NewLinear(w.flat(), bias.flat(), c.n, c.k))
				if n, k := plain.Shape(); n != c.n || k != c.k {
					t.Errorf("shape %d x %d", n, k)
				}
				dst := put(t, d, newMatrix(c.m, c.n), c.n)
				d.Linear(dst, tx, plain, engine.NoActivation, engine.Tensor{})
				product(x, w, nil, engine.NoActivation, nil).close(t, get(t, d, dst))
				d.Linear(dst, tx, biased, engine.GELU, put(t, d, residual, c.n))
				product(x, w, bias[0], engine.GELU, residual).close(t, get(t, d, dst))
				d.Upload(dst, residual.flat())
				d.Linear(dst, tx, biased, engine.NoActivation, dst)
				product(x, w, bias[0], engine.NoActivation, residual).close(t, get(t, d, dst))
			})
		}
	})
}

// TestLinearRowsAlone holds each row of a batch to the same row alone, on any number of threads, to the bit.
func TestLinearRowsAlone(t *testing.T) {
	const m, n, k = 230, 300, 70
	r := rng()
	x, w, bias := random(r, m, k), random(r, n, k), random(r, 1, n)
	var first []float32
	onDevices(t, func(t *testing.T, d *Device) {
		l := must(d.NewLinear(w.flat(), bias.flat(), n, k))
		tx, dst := put(t, d, x, k), put(t, d, newMatrix(m, n), n)
		d.Linear(dst, tx, l, engine.GELU, engine.Tensor{})
		got := get(t, d, dst)
		if first == nil {
			first = got
		}
		if !slices.Equal(got, first) {
			t.Error("not the same on another number of threads")
		}
		for i := range m {
			d.Linear(dst.Slice(i, i+1), tx.Slice(i, i+1), l, engine.GELU, engine.Tensor{})
		}
		if !slices.Equal(get(t, d, dst), first) {
			t.Error("rows alone differ from rows in a batch")
		}
	})
}

func TestLinearRefuses(t *testing.T) {
	d := newDevice(t, 1)
	if _, err := d.NewLinear(make([]float32, 5), nil, 2, 3); err == nil {
		t.Error("5 weights make no 2 x 3")
	}
	if _, err := d.NewLinear(make([]float32, 6), make([]float32, 3), 2, 3); err == nil {
		t.Error("3 biases for 2 outputs")
	}
	l := must(d.NewLinear(make([]float32, 6), nil, 2, 3))
	x, dst := put(t, d, newMatrix(4, 3), 3), put(t, d, newMatrix(4, 2), 2)
	for name, f := range map[string]func(){
		"x too narrow":       func() { d.Linear(dst, x.Columns(0, 2), l, engine.NoActivation, engine.Tensor{}) },
		"dst too short":      func() { d.Linear(dst.Slice(0, 3), x, l, engine.NoActivation, engine.Tensor{}) },
		"residual too short": func() { d.Linear(dst, x, l, engine.NoActivation, dst.Slice(0, 3)) },
		"activation unknown": func() { d.Linear(dst, x, l, 99, engine.Tensor{}) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}

// BenchmarkLinear has the shapes of Whisper base: a window's fc1, a step of one row, the vocabulary.
func BenchmarkLinear(b *testing.B) {
	for _, c := range []struct{ m, n, k int }{{1500, 2048, 512}, {1, 512, 512}, {1, 51865, 512}, {5, 2048, 512}} {
		b.Run(fmt.Sprintf("%dx%dx%d", c.m, c.n, c.k), func(b *testing.B) {
			d := newDevice(b, 0)
			l := must(d.NewLinear(make([]float32, c.n*c.k), nil, c.n, c.k))
			x := engine.NewTensor(must(d.Alloc(c.m*c.k)), c.m, c.k)
			dst := engine.NewTensor(must(d.Alloc(c.m*c.n)), c.m, c.n)
			for b.Loop() {
				d.Linear(dst, x, l, engine.NoActivation, engine.Tensor{})
			}
			b.ReportMetric(2*float64(c.m*c.n*c.k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// TestNormLinear holds it to a layer norm and a linear, to the bit, in every precision, with
// rows apart from each other and side by side.
func TestNormLinear(t *testing.T) {
	const n, k = 70, 100
	r := rng()
	w, bias, gamma, beta := random(r, n, k), random(r, 1, n), random(r, 1, k), random(r, 1, k)
	for _, p := range []Precision{F32, BF16, Int8, Int8Fast} {
		onDevices(t, func(t *testing.T, d *Device) {
			d = d.At(p)
			l, norm := must(d.NewLinear(w.flat(), bias.flat(), n, k)), must(d.NewNorm(gamma.flat(), beta.flat(), 1e-5))
			for _, m := range []int{0, 1, 5, 24, 97, 230} {
				x := put(t, d, random(r, m, k), k)
				dst, normed := put(t, d, newMatrix(m, n), n), put(t, d, newMatrix(m, k), k)
				d.LayerNorm(normed, x, norm)
				d.Linear(dst, normed, l, engine.GELU, engine.Tensor{})
				want, wantNormed := get(t, d, dst), get(t, d, normed)
				dst, normed = put(t, d, newMatrix(m, n), n), put(t, d, newMatrix(m, k), k)
				d.NormLinear(dst, normed, x, norm, l, engine.GELU)
				if !slices.Equal(get(t, d, dst), want) || !slices.Equal(get(t, d, normed), wantNormed) {
					t.Errorf("%v, %d rows: not what a layer norm and a linear make", p, m)
				}
			}
		})
	}
}
