package cpu

import (
	"fmt"

	"hark/engine"
	"hark/kernels"
)

const (
	// gatedRows and gatedCols are how many rows and channels make a block of a gated convolution: the gated rows that
	// it reads, a kernel more, stay in the first-level cache or close to it.
	gatedRows = 64
	gatedCols = 256
)

// depthwise is a convolution over time that keeps channels apart.
type depthwise struct {
	taps             []float32 // [kernel][channels]
	bias             []float32
	channels, kernel int
}

func (c *depthwise) Channels() int { return c.channels }

// NewDepthwise copies a convolution's weights.
func (d *Device) NewDepthwise(w, bias []float32, channels, kernel int) (engine.Depthwise, error) {
	if channels < 1 || kernel < 1 || kernel%2 == 0 || len(w) != channels*kernel ||
		bias != nil && len(bias) != channels {
		return nil, fmt.Errorf("cpu: depthwise convolution of %d channels and kernel %d: %d weights and %d biases",
			channels, kernel, len(w), len(bias))
	}
	c := &depthwise{engine.Transposed(w, 1, channels, kernel), make([]float32, channels), channels, kernel}
	copy(c.bias, bias)
	return c, nil
}

// gatedBlock is a run of an item's rows, first and end being the item's own.
type gatedBlock struct{ from, to, first, end int }

type gatedTask struct {
	dst, x   []float32
	ldd, ldx int
	c        *depthwise
	act      kernels.Activation
	blocks   []gatedBlock
	across   int // blocks side by side
	scratch  scratch
}

// GatedConv is dst = act(conv(a * sigmoid(b))) for a batch of items.
func (d *Device) GatedConv(dst, x engine.Tensor, lens []int, c engine.Depthwise, act engine.Activation) {
	t := d.gateds.get()
	t.c = c.(*depthwise)
	rows := total(lens)
	need("GatedConv", "x", x, rows, 2*t.c.channels)
	need("GatedConv", "dst", dst, rows, t.c.channels)
	t.blocks = t.blocks[:0]
	first := 0
	for _, l := range lens {
		for from := first; from < first+l; from += gatedRows {
			t.blocks = append(t.blocks, gatedBlock{from, min(from+gatedRows, first+l), first, first + l})
		}
		first += l
	}
	t.dst, t.ldd, t.x, t.ldx, t.act = floats(dst), dst.Stride, floats(x), x.Stride, activation(act)
	t.across = ceilDiv(t.c.channels, gatedCols)
	t.scratch.reserve(d.pool.threads)
	d.pool.run(len(t.blocks)*t.across, t)
	t.dst, t.x, t.c = nil, nil, nil
	d.gateds.put(t)
}

// block gates the rows that its own reach, then weighs them.
func (t *gatedTask) block(worker, i int) {
	b, at := t.blocks[i/t.across], i%t.across*gatedCols
	c := t.c
	n, half := min(gatedCols, c.channels-at), c.kernel/2
	from, to := max(b.first, b.from-half), min(b.end, b.to+half)
	gated := t.scratch.get(worker, (to-from)*n)
	for r := from; r < to; r++ {
		row := t.x[r*t.ldx+at:]
		kernels.Gate(gated[(r-from)*n:][:n], row[:n], row[c.channels:][:n])
	}
	for r := b.from; r < b.to; r++ {
		lo, hi := max(from, r-half), min(to, r+half+1)
		row := t.dst[r*t.ldd+at:][:n]
		copy(row, c.bias[at:])
		kernels.Depthwise(row, gated[(lo-from)*n:], n, c.taps[(lo-r+half)*c.channels+at:], c.channels, hi-lo)
		kernels.Activate(t.act, row)
	}
}
