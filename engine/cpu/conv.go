package cpu

import (
	"fmt"
	"slices"

	"hark/engine"
	"hark/kernels"
)

// convRows is how many output rows make a block. Their receptive fields are gathered first: a
// copy of kernel rows for each, which stays in the second-level cache and takes a
// fortieth of the time, so that the zero rows at an item's ends need no care.
const convRows = 48

// conv is a convolution over time as a product: an output row is that of its receptive field, kernel
// rows of x one after another, with the weights in the same order.
type conv struct {
	w                  *kernels.PackedF32 // [out][kernel*in]
	bias               []float32
	in, kernel, stride int
}

func (c *conv) OutChannels() int { return c.w.N }

// NewConv packs a convolution, [out][in][kernel] as [out][kernel][in].
func (d *Device) NewConv(w, bias []float32, out, in, kernel, stride int) (engine.Conv, error) {
	if out < 1 || in < 1 || kernel < 1 || stride < 1 || len(w) != out*in*kernel || bias != nil && len(bias) != out {
		return nil, fmt.Errorf("cpu: convolution of %d x %d x %d at stride %d: %d weights and %d biases",
			out, in, kernel, stride, len(w), len(bias))
	}
	r := engine.Transposed(w, out, in, kernel)
	return &conv{kernels.PackF32(r, out, kernel*in), slices.Clone(bias), in, kernel, stride}, nil
}

// convBlock is a run of an item's output rows.
type convBlock struct {
	first, len int // the item's rows in x
	from, rows int // output rows, counted in the item
	at         int // output row from, counted in dst
}

type convTask struct {
	dst, x   []float32
	ldd, ldx int
	c        *conv
	act      kernels.Activation
	blocks   []convBlock
	scratch  scratch
}

// Conv is dst = act(conv(x)) for a batch of items.
func (d *Device) Conv(dst, x engine.Tensor, lens []int, c engine.Conv, act engine.Activation) {
	t := d.convs.get()
	t.c = c.(*conv)
	t.blocks = t.blocks[:0]
	first, at := 0, 0
	for _, l := range lens {
		out := ceilDiv(l, t.c.stride)
		for from := 0; from < out; from += convRows {
			t.blocks = append(t.blocks, convBlock{first, l, from, min(convRows, out-from), at + from})
		}
		first, at = first+l, at+out
	}
	need("Conv", "x", x, total(lens), t.c.in)
	need("Conv", "dst", dst, at, t.c.w.N)
	t.dst, t.ldd, t.x, t.ldx, t.act = floats(dst), dst.Stride, floats(x), x.Stride, activation(act)
	t.scratch.reserve(d.pool.threads)
	d.pool.run(len(t.blocks), t)
	t.dst, t.x, t.c = nil, nil, nil
	d.convs.put(t)
}

func (t *convTask) block(worker, i int) {
	b, c := t.blocks[i], t.c
	k := c.kernel * c.in
	fields := t.scratch.get(worker, b.rows*k)
	for r := range b.rows {
		pos := (b.from+r)*c.stride - c.kernel/2
		for j := range c.kernel {
			field := fields[r*k+j*c.in:][:c.in]
			if p := pos + j; p < 0 || p >= b.len {
				clear(field)
			} else {
				copy(field, t.x[(b.first+p)*t.ldx:])
			}
		}
	}
	kernels.MatMul(t.dst[b.at*t.ldd:], t.ldd, fields, k, b.rows, c.w, 0, c.w.N,
		kernels.Epilogue{Bias: c.bias, Act: t.act})
}
