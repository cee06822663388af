package cpu

import (
	"fmt"
	"slices"

	"hark/engine"
	"hark/kernels"
)

const (
	// rowBlock is how many rows of a product make a block: enough that the weights, which every
	// block reads anew, cost little, and a whole number of every kernel's tiles.
	rowBlock = 96
	// blocksPerThread is what an operation is cut in, at least, where it is large
	// enough, so that a thread that comes late or is held up costs little.
	blocksPerThread = 4
	// minBlockWork is the fewest multiply-adds worth a block of their own: about a microsecond.
	minBlockWork = 1 << 15
)

// linear is a packed weight.
type linear struct {
	w    *kernels.PackedF32
	bias []float32
}

func (l *linear) Shape() (n, k int) { return l.w.N, l.w.K }

// NewLinear packs a weight.
func (d *Device) NewLinear(w, bias []float32, n, k int) (engine.Linear, error) {
	if n < 1 || k < 1 || len(w) != n*k || bias != nil && len(bias) != n {
		return nil, fmt.Errorf("cpu: linear of %d x %d: %d weights and %d biases", n, k, len(w), len(bias))
	}
	return &linear{kernels.PackF32(w, n, k), slices.Clone(bias)}, nil
}

// linearTask is a product cut in a grid of rows and columns.
type linearTask struct {
	dst, x   []float32
	ldd, ldx int
	m        int
	w        *kernels.PackedF32
	ep       kernels.Epilogue

	rows, cols int // of a block
	across     int // blocks side by side
}

// Linear is dst = act(x Wᵀ + bias) + residual.
func (d *Device) Linear(dst, x engine.Tensor, w engine.Linear, act engine.Activation, residual engine.Tensor) {
	l := w.(*linear)
	need("Linear", "x", x, x.Rows, l.w.K)
	need("Linear", "dst", dst, x.Rows, l.w.N)
	if x.Rows == 0 {
		return
	}
	t := d.linears.get()
	*t = linearTask{dst: floats(dst), ldd: dst.Stride, x: floats(x), ldx: x.Stride, m: x.Rows, w: l.w,
		ep: kernels.Epilogue{Bias: l.bias, Act: activation(act)}}
	if !residual.IsZero() {
		need("Linear", "residual", residual, x.Rows, l.w.N)
		t.ep.Residual, t.ep.LdResidual = floats(residual), residual.Stride
	}
	d.pool.run(t.cut(d.pool.threads), t)
	*t = linearTask{}
	d.linears.put(t)
}

// cut chooses the blocks and returns their number: rows first, since then each weight is
// read once per block, and columns too where there aren't rows enough for all threads.
func (t *linearTask) cut(threads int) int {
	down := ceilDiv(t.m, rowBlock)
	t.rows = ceilDiv(ceilDiv(t.m, down), 12) * 12
	down = ceilDiv(t.m, t.rows)

	wanted := ceilDiv(threads*blocksPerThread, down)
	worth := max(1, min(t.rows, t.m)*t.w.N*t.w.K/minBlockWork)
	grains := ceilDiv(t.w.N, kernels.NBlock)
	if threads == 1 {
		wanted = 1
	}
	t.cols = ceilDiv(grains, min(wanted, worth, grains)) * kernels.NBlock
	t.across = ceilDiv(t.w.N, t.cols)
	return down * t.across
}

func (t *linearTask) block(_, i int) {
	r, n := i/t.across*t.rows, i%t.across*t.cols
	ep := t.ep
	if ep.Residual != nil {
		ep.Residual = ep.Residual[r*ep.LdResidual:]
	}
	kernels.MatMul(t.dst[r*t.ldd:], t.ldd, t.x[r*t.ldx:], t.ldx, min(t.rows, t.m-r), t.w, n, min(n+t.cols, t.w.N), ep)
}
