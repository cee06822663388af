package cuda

import (
	"fmt"
	"math"

	"hark/engine"
)

// attentionThreads is how many threads a block of any attention has. (kernels/cuda/flash.h)
const attentionThreads = 128

// headWidth is a kernel's width of heads: narrower ones are filled up to it.
type headWidth struct {
	columns int
	queries int // of a block of an encoder's attention; kernels/cuda has them
}

// attentionWidths and relativeWidths are those of kernels/cuda/attention.cu and relattention.cu.
var (
	attentionWidths = []headWidth{{64, 128}, {128, 64}}
	relativeWidths  = []headWidth{{32, 64}, {64, 64}, {128, 64}}
)

// widthFor is the narrowest that a head fits in.
func widthFor(op string, widths []headWidth, dh int) headWidth {
	for _, w := range widths {
		if dh <= w.columns {
			return w
		}
	}
	panic(fmt.Sprintf("cuda: %s: heads of %d columns: the kernels have at most %d", op, dh,
		widths[len(widths)-1].columns))
}

// Attention is self-attention without a mask within each item, and to the more rows
// behind it. Heads may have up to 128 columns.
func (d *Device) Attention(dst, qkv engine.Tensor, lens []int, heads, more int) {
	rows, dh := total(lens), headed("Attention", dst.Cols, heads)
	need("Attention", "dst", dst, rows, dst.Cols)
	need("Attention", "qkv", qkv, rows+len(lens)*more, 3*dst.Cols)
	if rows == 0 {
		return
	}
	w, from, to := widthFor("Attention", attentionWidths, dh), view(qkv), view(dst)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	s := d.stretches(lens, w.queries)
	args := append(from[:], s.starts, s.cuts, i32(s.items), i32(more), i32(dst.Cols), i32(heads), flt(scoreScale(dh)))
	d.launch(fmt.Sprint("attention", w.columns, d.working().suffix()), dim3{X: s.count, Y: heads, Z: 1},
		along(attentionThreads), 0,
		append(args, to[:]...)...)
}

// headed checks that a width can be split into heads and returns the width of one.
func headed(op string, width, heads int) int {
	if heads < 1 || width%heads != 0 {
		panic(fmt.Sprintf("cuda: %s: a width of %d in %d heads", op, width, heads))
	}
	return width / heads
}

// scoreScale is what scores are scaled by, for weights that are powers of two.
func scoreScale(dh int) float32 { return float32(math.Log2E / math.Sqrt(float64(dh))) }
