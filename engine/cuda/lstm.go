package cuda

import (
	"fmt"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// What kernels/cuda/lstm.cu has of the layout of an LSTM's weights.
const (
	lstmStretch   = 32 // columns of inputs and states are filled up to a multiple
	lstmUnits     = 8  // units of a block
	lstmSequences = 16 // sequences of a block
	lstmThreads   = 256
	gates         = 4
)

// lstm is a layer of an LSTM: weights [units/8][4 gates][8 units][stretches], in the storage's
// format, and biases likewise, in float32.
type lstm struct {
	in, hidden    int
	weights, bias driver.DevicePtr
}

func (l *lstm) Shape() (in, hidden int) { return l.in, l.hidden }

// NewLSTM brings a layer of an LSTM to the GPU.
func (d *Device) NewLSTM(wih, whh, bias []float32, in, hidden int) (engine.LSTM, error) {
	if in < 1 || hidden < 1 || len(wih) != gates*hidden*in || len(whh) != gates*hidden*hidden ||
		len(bias) != gates*hidden {
		return nil, fmt.Errorf("cuda: LSTM of %d inputs and %d states: %d and %d weights, %d biases", in, hidden,
			len(wih), len(whh), len(bias))
	}
	w, b := packLSTM(wih, whh, bias, in, hidden)
	d.mu.Lock()
	defer d.mu.Unlock()
	weights, err := d.place(w, d.working())
	if err != nil {
		return nil, err
	}
	biases, err := d.place(b, f32)
	if err != nil {
		d.free(weights)
		return nil, err
	}
	return &lstm{in, hidden, weights.address(), biases.address()}, nil
}

// packLSTM lays weights and biases out as the kernel reads them.
func packLSTM(wih, whh, bias []float32, in, hidden int) (w, b []float32) {
	filled := ceilDiv(in, lstmStretch) * lstmStretch
	k, blocks := filled+ceilDiv(hidden, lstmStretch)*lstmStretch, ceilDiv(hidden, lstmUnits)
	w, b = make([]float32, blocks*gates*lstmUnits*k), make([]float32, blocks*gates*lstmUnits)
	for gate := range gates {
		for unit := range hidden {
			from, to := gate*hidden+unit, (unit/lstmUnits*gates+gate)*lstmUnits+unit%lstmUnits
			copy(w[to*k:], wih[from*in:][:in])
			copy(w[to*k+filled:], whh[from*hidden:][:hidden])
			b[to] = bias[from]
		}
	}
	return w, b
}

// LSTM takes sequences a step on.
func (d *Device) LSTM(dst, x, h, c engine.Tensor, w engine.LSTM, rows []int32) {
	l := w.(*lstm)
	l.check(dst, x, h, c, len(rows))
	indices("LSTM", rows, h.Rows)
	if len(rows) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	fresh := d.scratch(l.freshBytes(len(rows)))
	d.lstm(dst, x, h, c, l, d.stage(rows), at(fresh))
}

// check panics unless LSTM's arguments fit.
func (l *lstm) check(dst, x, h, c engine.Tensor, rows int) {
	need("LSTM", "dst", dst, rows, l.hidden)
	need("LSTM", "x", x, rows, l.in)
	need("LSTM", "h", h, h.Rows, l.hidden)
	need("LSTM", "c", c, h.Rows, l.hidden)
}

// freshBytes is the scratch memory that the new states of so many sequences take.
func (l *lstm) freshBytes(rows int) int { return rows * l.hidden * f32.bytes() }

// lstm queues LSTM with the sequences' rows, and room for new states, on the GPU. The lock is held.
func (d *Device) lstm(dst, x, h, c engine.Tensor, l *lstm, sequences, fresh arg) {
	vx, vh, vc, to, m, suffix := view(x), view(h), view(c), view(dst), x.Rows, d.working().suffix()
	args := append(append(vx[:], vh[:]...), vc[:]...)
	d.launch("lstm"+suffix, dim3{X: ceilDiv(l.hidden, lstmUnits), Y: ceilDiv(m, lstmSequences), Z: 1},
		along(lstmThreads), 0,
		append(args, at(l.weights), at(l.bias), i32(l.in), i32(l.hidden), sequences, i32(m), fresh)...)
	args = append([]arg{fresh, i32(l.hidden), sequences}, vh[:]...)
	d.launch("lstmstate"+suffix, along(m), along(lstmThreads), 0, append(args, to[:]...)...)
}
