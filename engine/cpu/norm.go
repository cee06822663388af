package cpu

import (
	"fmt"
	"slices"

	"hark/engine"
	"hark/kernels"
)

// normRows is how many rows make a block of a layer norm.
const normRows = 32

// norm is a layer norm's gain and shift.
type norm struct {
	gamma, beta []float32
	eps         float32
}

func (n *norm) Width() int { return len(n.gamma) }

// NewNorm copies a layer norm's gain and shift.
func (d *Device) NewNorm(gamma, beta []float32, eps float32) (engine.Norm, error) {
	if len(gamma) == 0 || len(beta) != len(gamma) {
		return nil, fmt.Errorf("cpu: layer norm of %d gains and %d shifts", len(gamma), len(beta))
	}
	return &norm{slices.Clone(gamma), slices.Clone(beta), eps}, nil
}

type normTask struct {
	dst, x   []float32
	ldd, ldx int
	rows     int
	n        *norm
}

// LayerNorm normalises each row of x to dst.
func (d *Device) LayerNorm(dst, x engine.Tensor, n engine.Norm) {
	t := d.newNorm(dst, x, n)
	d.pool.run(ceilDiv(x.Rows, normRows), t)
	d.forget(t)
}

// newNorm is the task of a layer norm, to be given back by forget.
func (d *Device) newNorm(dst, x engine.Tensor, n engine.Norm) *normTask {
	w := n.(*norm)
	need("LayerNorm", "x", x, x.Rows, len(w.gamma))
	need("LayerNorm", "dst", dst, x.Rows, len(w.gamma))
	t := d.norms.get()
	*t = normTask{floats(dst), floats(x), dst.Stride, x.Stride, x.Rows, w}
	return t
}

func (d *Device) forget(t *normTask) {
	*t = normTask{}
	d.norms.put(t)
}

func (t *normTask) block(_, i int) { t.run(i*normRows, normRows) }

// run does up to n rows from row r on.
func (t *normTask) run(r, n int) {
	kernels.LayerNorm(t.dst[r*t.ldd:], t.ldd, t.x[r*t.ldx:], t.ldx, min(n, t.rows-r), len(t.n.gamma),
		t.n.gamma, t.n.beta, t.n.eps)
}
