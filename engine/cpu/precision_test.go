package cpu

import (
	"math"
	"slices"
	"testing"

	"hark/engine"
)

// relativeError is |got - want| / |want| in the Euclidean norm.
func relativeError(got, want []float32) float64 {
	var d, s float64
	for i, v := range want {
		d += (float64(got[i]) - float64(v)) * (float64(got[i]) - float64(v))
		s += float64(v) * float64(v)
	}
	return math.Sqrt(d / s)
}

func TestParsePrecision(t *testing.T) {
	for _, p := range []Precision{F32, BF16, Int8, Int8Encoder, Int8Fast} {
		if got, ok := ParsePrecision(p.String()); !ok || got != p {
			t.Errorf("%v: got %v, %v", p, got, ok)
		}
	}
	if p, ok := ParsePrecision("f64"); ok {
		t.Errorf("f64: got %v", p)
	}
}

// TestPrecisionsAgree runs all operations in each precision, to the same bits on any number of threads.
func TestPrecisionsAgree(t *testing.T) {
	for _, p := range []Precision{BF16, Int8, int8Output, Int8Fast} {
		t.Run(p.String(), func(t *testing.T) {
			var first []float32
			onDevices(t, func(t *testing.T, d *Device) {
				g := newDecoder(d.At(p))
				g.run()
				got := make([]float32, testRows*testVocab)
				if err := d.Download(got, g.logits); err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = got
				}
				if !slices.Equal(got, first) {
					t.Error("not the same on another number of threads")
				}
			})
		})
	}
}

// TestForSteps has only Int8Encoder make other weights for a decoder's steps, by numbers that neither bytes nor bfloat16 keep.
func TestForSteps(t *testing.T) {
	d := newDevice(t, 1)
	for _, p := range []Precision{F32, BF16, Int8, Int8Encoder, Int8Fast} {
		w := []float32{1, 0.001, 1, 1, 0.001, 1} // neither halves nor bfloat16
		got := make([]float32, 2)
		for i, dev := range []engine.Device{d.At(p), d.At(p).ForSteps()} {
			must(dev.NewLinear(w, nil, 2, 3)).(*linear).row(1, w[3:])
			got[i] = w[4]
			w[4] = 0.001
		}
		exact := [2]bool{got[0] == 0.001, got[1] == 0.001}
		if want := [2]bool{p == F32, p == F32 || p == Int8Encoder}; exact != want {
			t.Errorf("%v: weights are exact (usual, for steps): %v, want %v", p, exact, want)
		}
	}
}

// TestOutputLayer holds the best score of the output layer of Int8Encoder, in bytes, to float32's,
// ten times as near as its other scores are.
func TestOutputLayer(t *testing.T) {
	const m, n, k = 20, 1000, 64
	r := rng()
	d := newDevice(t, 2)
	x, w, bias := random(r, m, k), random(r, n, k), random(r, 1, n)
	scores := func(d *Device) (best, all []float32) {
		dst := put(t, d, newMatrix(m, n), n)
		d.Linear(dst, put(t, d, x, k), must(d.NewLinear(w.flat(), bias.flat(), n, k)), engine.NoActivation, engine.Tensor{})
		all = get(t, d, dst)
		for i := range m {
			best = append(best, slices.Max(all[i*n:][:n]))
		}
		return best, all
	}
	wantBest, wantAll := scores(d)
	best, all := scores(d.At(Int8Encoder).ForSteps().(*Device))
	if e, most := relativeError(best, wantBest), relativeError(all, wantAll)/10; !(e <= most) {
		t.Errorf("the best scores' relative error is %.5f, want at most %.5f, a tenth of all scores'", e, most)
	}
}

// TestPrecisionErrors states what a precision costs a layer and an attention: the
// relative error of outputs from random numbers.
func TestPrecisionErrors(t *testing.T) {
	const rows, width, heads = 60, 128, 2
	outputs := func(d *Device) (linear, attention []float32) {
		r := rng()
		x, w := put(t, d, random(r, rows, width), width), random(r, width, width)
		dst, qkv := put(t, d, newMatrix(rows, width), width), put(t, d, random(r, rows, 3*width), 3*width)
		d.Linear(dst, x, must(d.NewLinear(w.flat(), nil, width, width)), engine.NoActivation, engine.Tensor{})
		linear = get(t, d, dst)
		d.Attention(dst, qkv, []int{rows}, heads, 0)
		return linear, get(t, d, dst)
	}
	d := newDevice(t, 2)
	wantLinear, wantAttention := outputs(d)
	for _, c := range []struct {
		precision         Precision
		linear, attention float64
	}{{BF16, 0.004, 0}, {Int8, 0.012, 0.02}, {Int8Fast, 0.02, 0.02}} {
		linear, attention := outputs(d.At(c.precision))
		if e := relativeError(linear, wantLinear); !(e > 0.001 && e <= c.linear) {
			t.Errorf("%v: a layer's relative error is %.4f, want at most %v, and some", c.precision, e, c.linear)
		}
		if e := relativeError(attention, wantAttention); !((e > 0.001) == (c.attention > 0) && e <= c.attention) {
			t.Errorf("%v: attention's relative error is %.4f, want at most %v, and some", c.precision, e, c.attention)
		}
	}
}

// TestPrecisionRowsAlone holds each row of a batch to the same row alone, to the bit.
func TestPrecisionRowsAlone(t *testing.T) {
	const m, n, k = 50, 300, 70
	r := rng()
	x, w, bias := random(r, m, k), random(r, n, k), random(r, 1, n)
	for _, p := range []Precision{BF16, Int8, Int8Fast} {
		d := newDevice(t, 2).At(p)
		l := must(d.NewLinear(w.flat(), bias.flat(), n, k))
		tx, dst := put(t, d, x, k), put(t, d, newMatrix(m, n), n)
		d.Linear(dst, tx, l, engine.GELU, engine.Tensor{})
		want := get(t, d, dst)
		for i := range m {
			d.Linear(dst.Slice(i, i+1), tx.Slice(i, i+1), l, engine.GELU, engine.Tensor{})
		}
		if !slices.Equal(get(t, d, dst), want) {
			t.Errorf("%v: rows alone differ from rows in a batch", p)
		}
	}
}

// TestAt has handles of one precision on a device of another.
func TestAt(t *testing.T) {
	d := newDevice(t, 2)
	b := d.At(Int8)
	if d.Precision() != F32 || b.Precision() != Int8 {
		t.Errorf("precisions %v and %v", d.Precision(), b.Precision())
	}
	r := rng()
	x, w := random(r, 3, 40), random(r, 64, 40)
	dst, other := put(t, d, newMatrix(3, 64), 64), put(t, d, newMatrix(3, 64), 64)
	l := must(b.NewLinear(w.flat(), nil, 64, 40))
	b.Linear(dst, put(t, d, x, 40), l, engine.NoActivation, engine.Tensor{})
	d.Linear(other, put(t, d, x, 40), l, engine.NoActivation, engine.Tensor{})
	if !slices.Equal(get(t, d, dst), get(t, d, other)) {
		t.Error("a handle does not compute the same on both devices")
	}
}
