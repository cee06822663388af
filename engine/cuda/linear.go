package cuda

import (
	"fmt"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// weight is a matrix [n][k] in the storage's format. Rows are ld apart, a whole number of chunks, with zeros behind k.
type weight struct {
	n, k, ld int
	data     *buffer
	bias     driver.DevicePtr // [n], float32; 0 for none
	blasBias driver.DevicePtr // the same in the storage's format, where cuBLASLt may want it
	manyRows bool             // it gets many rows at a time
}

// newWeight brings a matrix to the GPU. The lock is held.
func (d *Device) newWeight(w, bias []float32, n, k int) (*weight, error) {
	ld := d.rowLength(k)
	data, err := d.place(padded(w, n, k, ld), d.working())
	if err != nil {
		return nil, err
	}
	return d.withBias(&weight{n: n, k: k, ld: ld, data: data}, bias)
}

// rowLength is the distance of a weight's rows of k elements.
func (d *Device) rowLength(k int) int {
	per := chunkBytes / d.working().bytes()
	return ceilDiv(k, per) * per
}

// padded is a matrix [n][k] with rows ld apart, and zeros between.
func padded[E any](w []E, n, k, ld int) []E {
	if k == ld {
		return w
	}
	p := make([]E, n*ld)
	for i := range n {
		copy(p[i*ld:], w[i*k:][:k])
	}
	return p
}

// withBias adds a bias, which may be nil, to a weight. Without room for it the weight is given back. The lock is held.
func (d *Device) withBias(l *weight, bias []float32) (*weight, error) {
	if bias == nil {
		return l, nil
	}
	b, err := d.place(bias, f32)
	if err != nil {
		d.free(l.data)
		return nil, err
	}
	l.bias = b.address()
	if d.blas != nil {
		half, err := d.place(bias, d.working())
		if err != nil {
			d.free(l.data)
			d.free(b)
			return nil, err
		}
		l.blasBias = half.address()
	}
	return l, nil
}

// linear is the weight of a linear layer.
type linear struct{ *weight }

var (
	_ engine.HalfDevice     = (*Device)(nil)
	_ engine.ManyRowsDevice = (*Device)(nil)
)

func (l linear) Shape() (n, k int) { return l.n, l.k }

// NewLinear brings a weight to the GPU.
func (d *Device) NewLinear(w, bias []float32, n, k int) (engine.Linear, error) {
	if n < 1 || k < 1 || len(w) != n*k || bias != nil && len(bias) != n {
		return nil, fmt.Errorf("cuda: linear of %d x %d: %d weights and %d biases", n, k, len(w), len(bias))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	l, err := d.newWeight(w, bias, n, k)
	if err != nil {
		return nil, err
	}
	return linear{l}, nil
}

// ManyRows has w multiplied in the way that is best for many rows, by cuBLASLt where
// it's there, however many rows come.
func (d *Device) ManyRows(w engine.Linear) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.(linear).manyRows = true
}

// NewLinearHalf is NewLinear with halves as files hold them. They go to the GPU as they are, if its format is theirs.
func (d *Device) NewLinearHalf(w []byte, bias []float32, n, k int) (engine.Linear, error) {
	if n < 1 || k < 1 || len(w) != 2*n*k || bias != nil && len(bias) != n {
		return nil, fmt.Errorf("cuda: linear of %d x %d: %d bytes of weights and %d biases", n, k, len(w), len(bias))
	}
	if d.working() != f16 {
		values := make([]float32, n*k)
		f16.decode(values, w)
		return d.NewLinear(values, bias, n, k)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	ld := d.rowLength(k)
	data, err := d.placeBytes(padded(w, n, 2*k, 2*ld), f16)
	if err != nil {
		return nil, err
	}
	l, err := d.withBias(&weight{n: n, k: k, ld: ld, data: data}, bias)
	if err != nil {
		return nil, err
	}
	return linear{l}, nil
}

// Linear is dst = act(x Wᵀ + bias) + residual.
func (d *Device) Linear(dst, x engine.Tensor, w engine.Linear, act engine.Activation, residual engine.Tensor) {
	l := w.(linear)
	need("Linear", "x", x, x.Rows, l.k)
	need("Linear", "dst", dst, x.Rows, l.n)
	if !residual.IsZero() {
		need("Linear", "residual", residual, x.Rows, l.n)
	}
	activation(act)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	d.multiply(&product{dst, x, l.weight, act, residual})
}
