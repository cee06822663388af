package cuda

import (
	"fmt"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// normRows is how many rows a block of a layer norm has, each a warp's. (kernels/cuda/norm.cu)
const normRows = 4

// norm is a layer norm's gain and shift, in float32.
type norm struct {
	width       int
	gamma, beta driver.DevicePtr
	eps         float32
}

func (n *norm) Width() int { return n.width }

// NewNorm brings a layer norm's gain and shift to the GPU.
func (d *Device) NewNorm(gamma, beta []float32, eps float32) (engine.Norm, error) {
	if len(gamma) == 0 || len(beta) != len(gamma) {
		return nil, fmt.Errorf("cuda: layer norm of %d gains and %d shifts", len(gamma), len(beta))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	g, err := d.place(gamma, f32)
	if err != nil {
		return nil, err
	}
	b, err := d.place(beta, f32)
	if err != nil {
		d.free(g)
		return nil, err
	}
	return &norm{len(gamma), g.address(), b.address(), eps}, nil
}

// LayerNorm normalises each row of x to dst.
func (d *Device) LayerNorm(dst, x engine.Tensor, n engine.Norm) {
	w := n.(*norm)
	need("LayerNorm", "x", x, x.Rows, w.width)
	need("LayerNorm", "dst", dst, x.Rows, w.width)
	from, to := view(x), view(dst)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	args := append(from[:], at(w.gamma), at(w.beta), flt(w.eps), i32(x.Rows), i32(w.width))
	d.launch("layernorm"+d.working().suffix(), along(ceilDiv(x.Rows, normRows)), along(32*normRows), 0,
		append(args, to[:]...)...)
}

// NormLinear is LayerNorm, then Linear.
func (d *Device) NormLinear(dst, normed, x engine.Tensor, n engine.Norm, w engine.Linear, act engine.Activation) {
	d.LayerNorm(normed, x, n)
	d.Linear(dst, normed, w, act, engine.Tensor{})
}
