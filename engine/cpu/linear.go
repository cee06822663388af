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
	rowBlock = kernels.MBlock
	// blocksPerThread is what an operation is cut in, at least, where it is large
	// enough, so that a thread that comes late or is held up costs little.
	blocksPerThread = 4
	// minBlockWork is the fewest multiply-adds worth a block of their own: about a microsecond.
	minBlockWork = 1 << 15
	// quantiseRows is how many rows are made integers in a block.
	quantiseRows = 4 * kernels.StripRows
)

// linear is a weight [n][k], packed as floats or as bytes.
type linear struct {
	n, k int
	f32  *kernels.PackedF32
	i8   *kernels.PackedI8
	bias []float32
}

func (l *linear) Shape() (n, k int) { return l.n, l.k }

// Numbers names what its products are of, where that isn't float32: "bytes" or "bf16".
func (l *linear) Numbers() string {
	switch {
	case l.i8 != nil:
		return "bytes"
	case l.f32.InBF16():
		return "bf16"
	}
	return ""
}

// NewLinear packs a weight.
func (d *Device) NewLinear(w, bias []float32, n, k int) (engine.Linear, error) {
	if n < 1 || k < 1 || len(w) != n*k || bias != nil && len(bias) != n {
		return nil, fmt.Errorf("cpu: linear of %d x %d: %d weights and %d biases", n, k, len(w), len(bias))
	}
	l := &linear{n: n, k: k, bias: slices.Clone(bias)}
	switch {
	case d.precision.bytes(n, k):
		l.i8 = kernels.PackI8(w, n, k, d.precision.fine(n, k), d.precision.refines())
	case d.precision.bf16(n, k):
		l.f32 = kernels.PackBF16(w, n, k)
	default:
		l.f32 = kernels.PackF32(w, n, k)
	}
	return l, nil
}

// NewLinearHalf packs a weight in half precision.
func (d *Device) NewLinearHalf(w []byte, bias []float32, n, k int) (engine.Linear, error) {
	if n < 1 || k < 1 || len(w) != 2*n*k || bias != nil && len(bias) != n {
		return nil, fmt.Errorf("cpu: linear of %d x %d: %d bytes of weights and %d biases", n, k, len(w), len(bias))
	}
	l := &linear{n: n, k: k, bias: slices.Clone(bias)}
	switch {
	case d.precision.bytes(n, k):
		l.i8 = kernels.PackI8Halves(w, n, k, d.precision.fine(n, k), d.precision.refines())
	case d.precision.bf16(n, k):
		l.f32 = kernels.PackBF16Halves(w, n, k)
	default:
		l.f32 = kernels.PackHalves(w, n, k)
	}
	return l, nil
}

// row copies row i of the weight to dst.
func (l *linear) row(i int, dst []float32) {
	if l.i8 != nil {
		l.i8.Row(i, dst)
	} else {
		l.f32.Row(i, dst)
	}
}

// linearTask is a product cut in a grid of rows and columns. With weights in bytes the rows of x are made integers
// first, and the best of an output layer's scores are computed anew afterwards, in blocks of their own.
type linearTask struct {
	dst, x   []float32
	ldd, ldx int
	m        int
	l        *linear
	ep       kernels.Epilogue

	norm *normTask // makes x, for rows that become integers at once; nil where x is there

	stage    linearStage
	integers kernels.Quantised
	refines  []kernels.RefineI8Work // of every worker

	rows, cols int // of a block
	across     int // blocks side by side
}

// linearStage is what the blocks of a linearTask are.
type linearStage uint8

const (
	multiplying linearStage = iota
	quantising
	refining
)

// Linear is dst = act(x Wᵀ + bias) + residual.
func (d *Device) Linear(dst, x engine.Tensor, w engine.Linear, act engine.Activation, residual engine.Tensor) {
	d.linear(dst, x, nil, w.(*linear), act, residual)
}

// NormLinear is LayerNorm, then Linear. With weights in bytes a row becomes integers as soon as it is
// normed, while it is in the first-level cache.
func (d *Device) NormLinear(dst, normed, x engine.Tensor, n engine.Norm, w engine.Linear, act engine.Activation) {
	l := w.(*linear)
	if l.i8 == nil {
		d.LayerNorm(normed, x, n)
		d.linear(dst, normed, nil, l, act, engine.Tensor{})
		return
	}
	t := d.newNorm(normed, x, n)
	d.linear(dst, normed, t, l, act, engine.Tensor{})
	d.forget(t)
}

// linear is Linear of an x that is there, or that the norm is to make.
func (d *Device) linear(dst, x engine.Tensor, norm *normTask, l *linear, act engine.Activation,
	residual engine.Tensor) {
	need("Linear", "x", x, x.Rows, l.k)
	need("Linear", "dst", dst, x.Rows, l.n)
	if x.Rows == 0 {
		return
	}
	t := d.linears.get()
	t.dst, t.ldd, t.x, t.ldx, t.m, t.l = floats(dst), dst.Stride, floats(x), x.Stride, x.Rows, l
	t.norm = norm
	t.ep = kernels.Epilogue{Bias: l.bias, Act: activation(act)}
	if !residual.IsZero() {
		need("Linear", "residual", residual, x.Rows, l.n)
		t.ep.Residual, t.ep.LdResidual = floats(residual), residual.Stride
	}
	if l.i8 != nil {
		t.integers.Reset(t.m, l.k, l.i8.Fine())
		t.stage = quantising
		d.pool.run(ceilDiv(t.m, quantiseRows), t)
	}
	t.stage = multiplying
	d.pool.run(t.cut(d.pool.threads), t)
	if l.i8 != nil && l.i8.Refines() && act == engine.NoActivation && residual.IsZero() {
		for len(t.refines) < d.pool.threads {
			t.refines = append(t.refines, kernels.RefineI8Work{})
		}
		t.stage = refining
		d.pool.run(t.m, t)
	}
	t.dst, t.x, t.l, t.norm, t.ep = nil, nil, nil, nil, kernels.Epilogue{}
	d.linears.put(t)
}

// cut chooses the blocks and returns their number: rows first, since then each weight is
// read once per block, and columns too where there aren't rows enough for all threads.
func (t *linearTask) cut(threads int) int {
	down := ceilDiv(t.m, rowBlock)
	t.rows = ceilDiv(ceilDiv(t.m, down), kernels.StripRows) * kernels.StripRows
	down = ceilDiv(t.m, t.rows)

	wanted := ceilDiv(threads*blocksPerThread, down)
	worth := max(1, min(t.rows, t.m)*t.l.n*t.l.k/minBlockWork)
	grains := ceilDiv(t.l.n, kernels.NBlock)
	if threads == 1 {
		wanted = 1
	}
	t.cols = ceilDiv(grains, min(wanted, worth, grains)) * kernels.NBlock
	t.across = ceilDiv(t.l.n, t.cols)
	return down * t.across
}

func (t *linearTask) block(worker, i int) {
	switch t.stage {
	case quantising:
		r := i * quantiseRows
		if t.norm != nil {
			t.norm.run(r, quantiseRows)
		}
		t.integers.Quantise(r, t.x[r*t.ldx:], t.ldx, min(quantiseRows, t.m-r))
	case multiplying:
		t.multiply(i)
	case refining:
		t.l.i8.Refine(t.dst[i*t.ldd:][:t.l.n], t.x[i*t.ldx:][:t.l.k], t.l.bias, &t.refines[worker])
	}
}

// multiply does block i of the grid.
func (t *linearTask) multiply(i int) {
	r, n := i/t.across*t.rows, i%t.across*t.cols
	rows, end := min(t.rows, t.m-r), min(n+t.cols, t.l.n)
	ep := t.ep
	if ep.Residual != nil {
		ep.Residual = ep.Residual[r*ep.LdResidual:]
	}
	if t.l.i8 != nil {
		kernels.MatMulI8(t.dst[r*t.ldd:], t.ldd, &t.integers, r, rows, t.l.i8, n, end, ep)
	} else {
		kernels.MatMul(t.dst[r*t.ldd:], t.ldd, t.x[r*t.ldx:], t.ldx, rows, t.l.f32, n, end, ep)
	}
}
