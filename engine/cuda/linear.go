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
}

// newWeight brings a matrix to the GPU. The lock is held.
func (d *Device) newWeight(w, bias []float32, n, k int) (*weight, error) {
	f := d.working()
	per := chunkBytes / f.bytes()
	l := &weight{n: n, k: k, ld: ceilDiv(k, per) * per}
	if l.ld != k {
		padded := make([]float32, n*l.ld)
		for i := range n {
			copy(padded[i*l.ld:], w[i*k:][:k])
		}
		w = padded
	}
	var err error
	if l.data, err = d.place(w, f); err != nil || bias == nil {
		return l, err
	}
	b, err := d.place(bias, f32)
	if err != nil {
		d.free(l.data)
		return nil, err
	}
	l.bias = b.address()
	if d.blas != nil {
		half, err := d.place(bias, f)
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
