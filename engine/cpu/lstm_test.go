package cpu

import (
	"math"
	"slices"
	"testing"
)

// lstmStep is PyTorch's LSTM layer for one sequence, a step on: the new h and c.
func lstmStep(x, h, c []float64, wih, whh matrix, bias []float64) (newH, newC []float64) {
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	n := len(h)
	gates := make([]float64, 4*n)
	for g := range gates {
		gates[g] = bias[g]
		for i, v := range x {
			gates[g] += v * wih[g][i]
		}
		for i, v := range h {
			gates[g] += v * whh[g][i]
		}
	}
	newH, newC = make([]float64, n), make([]float64, n)
	for i := range n {
		newC[i] = sigmoid(gates[n+i])*c[i] + sigmoid(gates[i])*math.Tanh(gates[2*n+i])
		newH[i] = sigmoid(gates[3*n+i]) * math.Tanh(newC[i])
	}
	return newH, newC
}

func TestLSTM(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		const in, hidden, sequences = 20, 33, 5
		r := rng()
		wih, whh, bias := scaled(random(r, 4*hidden, in), 0.3), scaled(random(r, 4*hidden, hidden), 0.3), random(r, 1, 4*hidden)
		l := must(d.NewLSTM(wih.flat(), whh.flat(), bias.flat(), in, hidden))
		if i, h := l.Shape(); i != in || h != hidden {
			t.Errorf("shape %d to %d", i, h)
		}
		h, c := newMatrix(sequences, hidden), newMatrix(sequences, hidden)
		th, tc := put(t, d, h, hidden), put(t, d, c, hidden)
		lone, loneC := put(t, d, newMatrix(1, hidden), hidden), put(t, d, newMatrix(1, hidden), hidden)
		for step, rows := range [][]int32{{0, 1, 2, 3, 4}, {4, 0}, {3}, nil, {2, 1, 3, 0}} {
			x, want := random(r, len(rows), in), newMatrix(len(rows), hidden)
			tx, dst := put(t, d, x, in), put(t, d, want, hidden)
			for i, s := range rows {
				if i == 0 {
					d.Gather(lone, th, []int32{s})
					d.Gather(loneC, tc, []int32{s})
				}
				h[s], c[s] = lstmStep(x[i], h[s], c[s], wih, whh, bias[0])
				copy(want[i], h[s])
			}
			d.LSTM(dst, tx, th, tc, l, rows)
			got := get(t, d, dst)
			want.close(t, got)
			h.close(t, get(t, d, th))
			c.close(t, get(t, d, tc))
			if len(rows) > 0 {
				out := put(t, d, newMatrix(1, hidden), hidden)
				d.LSTM(out, tx.Slice(0, 1), lone, loneC, l, []int32{0})
				if !slices.Equal(get(t, d, out), got[:hidden]) {
					t.Errorf("step %d: a sequence alone differs from the sequence in a batch", step)
				}
			}
		}
	})
}

func TestLSTMInPlace(t *testing.T) {
	const n = 12
	d := newDevice(t, 1)
	r := rng()
	wih, whh, bias, x := random(r, 4*n, n), random(r, 4*n, n), random(r, 1, 4*n), random(r, 1, n)
	l := must(d.NewLSTM(wih.flat(), whh.flat(), bias.flat(), n, n))
	tx, h, c := put(t, d, x, n), put(t, d, newMatrix(1, n), n), put(t, d, newMatrix(1, n), n)
	d.LSTM(tx, tx, h, c, l, []int32{0})
	want, _ := lstmStep(x[0], make([]float64, n), make([]float64, n), wih, whh, bias[0])
	matrix{want}.close(t, get(t, d, tx))
}

func TestLSTMRefuses(t *testing.T) {
	d := newDevice(t, 1)
	if _, err := d.NewLSTM(make([]float32, 8), make([]float32, 4), make([]float32, 3), 2, 1); err == nil {
		t.Error("3 biases for 4 gates: no error")
	}
	l := must(d.NewLSTM(make([]float32, 8), make([]float32, 4), make([]float32, 4), 2, 1))
	x, h, c, dst := put(t, d, newMatrix(1, 2), 2), put(t, d, newMatrix(3, 1), 1), put(t, d, newMatrix(3, 1), 1), put(t, d, newMatrix(1, 1), 1)
	for name, f := range map[string]func(){
		"no such sequence":    func() { d.LSTM(dst, x, h, c, l, []int32{3}) },
		"more rows than x":    func() { d.LSTM(dst, x, h, c, l, []int32{0, 1}) },
		"states of two sizes": func() { d.LSTM(dst, x, h, c.Slice(0, 2), l, []int32{0}) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}

// BenchmarkLSTM has the shape of parakeet-tdt's prediction network.
func BenchmarkLSTM(b *testing.B) {
	const n = 640
	d := newDevice(b, 0)
	l := must(d.NewLSTM(make([]float32, 4*n*n), make([]float32, 4*n*n), make([]float32, 4*n), n, n))
	for name, m := range map[string]int{"1": 1, "12": 12} {
		b.Run(name, func(b *testing.B) {
			x, h, c, dst := benchTensor(b, d, m, n), benchTensor(b, d, m, n), benchTensor(b, d, m, n), benchTensor(b, d, m, n)
			var rows []int32
			for i := range m {
				rows = append(rows, int32(i))
			}
			for b.Loop() {
				d.LSTM(dst, x, h, c, l, rows)
			}
		})
	}
}
