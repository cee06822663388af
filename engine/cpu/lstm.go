package cpu

import (
	"fmt"

	"hark/engine"
	"hark/kernels"
)

// lstm is a layer of an LSTM. Its two products are one, over input and state side by side.
type lstm struct {
	gates      engine.Linear // [4*hidden][in+hidden]
	in, hidden int
}

func (l *lstm) Shape() (in, hidden int) { return l.in, l.hidden }

// NewLSTM packs a layer of an LSTM.
func (d *Device) NewLSTM(wih, whh, bias []float32, in, hidden int) (engine.LSTM, error) {
	if in < 1 || hidden < 1 || len(wih) != 4*hidden*in || len(whh) != 4*hidden*hidden || len(bias) != 4*hidden {
		return nil, fmt.Errorf("cpu: LSTM of %d inputs and %d states: %d and %d weights, %d biases", in, hidden,
			len(wih), len(whh), len(bias))
	}
	w := make([]float32, 0, len(wih)+len(whh))
	for n := range 4 * hidden {
		w = append(w, wih[n*in:][:in]...)
		w = append(w, whh[n*hidden:][:hidden]...)
	}
	gates, err := d.NewLinear(w, bias, 4*hidden, in+hidden)
	if err != nil {
		return nil, err
	}
	return &lstm{gates, in, hidden}, nil
}

// lstmTask updates states from their gates; a block is a row. Its buffers hold what the product reads and writes.
type lstmTask struct {
	joined, gates buffer // [M][in+hidden] and [M][4*hidden]
	dst, h, c     []float32
	ldd, ldh, ldc int
	rows          []int32
	hidden        int
}

// LSTM takes sequences a step on.
func (d *Device) LSTM(dst, x, h, c engine.Tensor, w engine.LSTM, rows []int32) {
	l := w.(*lstm)
	m := len(rows)
	need("LSTM", "dst", dst, m, l.hidden)
	need("LSTM", "x", x, m, l.in)
	need("LSTM", "h", h, h.Rows, l.hidden)
	need("LSTM", "c", c, h.Rows, l.hidden)
	if m == 0 {
		return
	}
	t := d.lstms.get()
	t.dst, t.ldd, t.h, t.ldh, t.c, t.ldc = floats(dst), dst.Stride, floats(h), h.Stride, floats(c), c.Stride
	t.hidden, t.rows = l.hidden, append(t.rows[:0], rows...)
	width := l.in + l.hidden
	t.joined.grow(m * width)
	t.gates.grow(m * 4 * l.hidden)
	input := floats(x)
	for i, r := range rows {
		if r < 0 || int(r) >= h.Rows {
			panic(fmt.Sprintf("cpu: LSTM: sequence %d of %d", r, h.Rows))
		}
		row := t.joined.data[i*width:][:width]
		copy(row[:l.in], input[i*x.Stride:])
		copy(row[l.in:], t.h[int(r)*t.ldh:])
	}
	d.Linear(engine.NewTensor(&t.gates, m, 4*l.hidden), engine.NewTensor(&t.joined, m, width), l.gates,
		engine.NoActivation, engine.Tensor{})
	d.pool.run(m, t)
	t.dst, t.h, t.c = nil, nil, nil
	d.lstms.put(t)
}

func (t *lstmTask) block(_, i int) {
	n, r := t.hidden, int(t.rows[i])
	h := t.h[r*t.ldh:][:n]
	kernels.LSTMCell(h, t.c[r*t.ldc:][:n], t.gates.data[i*4*n:][:4*n])
	copy(t.dst[i*t.ldd:][:n], h)
}

// grow makes room for n elements of any content.
func (b *buffer) grow(n int) {
	if len(b.data) < n {
		b.data = alignedFloats(n)
	}
}
