//go:build linux && amd64 && !nocuda

package cuda

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hark/engine"
)

// TestNeighbours has items beside one whose numbers are none: what a batch is like must not show in any item of it.
func TestNeighbours(t *testing.T) {
	onBoth(t, func(b *bench) {
		const dim, heads, mels = 48, 2, 20
		plain := layout{8, 0, false}
		lens := []int{70, 21, 65}
		rows := total(lens)
		pos, bias := b.put(b.random((2*70-1)*dim), 2*70-1, dim, plain), b.put(b.random(2*dim), 2, dim, plain)
		conv := must(b.gpu.NewDepthwise(b.random(dim*9), nil, dim, 9))
		sub := must(b.gpu.NewSubsampling(b.subsamplingWeights(mels, 8, 2)))
		out := make([]int, len(lens))
		for i, l := range lens {
			out[i] = ceilDiv(l, sub.Factor())
		}
		for name, op := range map[string]struct {
			cols, width int
			lens        []int // of dst
			run         func(dst, x engine.Tensor, lens []int)
		}{
			"Attention": {3 * dim, dim, lens, func(dst, x engine.Tensor, lens []int) { b.gpu.Attention(dst, x, lens, heads, 0) }},
			"RelativeAttention": {3 * dim, dim, lens, func(dst, x engine.Tensor, lens []int) {
				b.gpu.RelativeAttention(dst, x, lens, heads, pos.gpu, bias.gpu)
			}},
			"GatedConv": {2 * dim, dim, lens, func(dst, x engine.Tensor, lens []int) { b.gpu.GatedConv(dst, x, lens, conv, engine.SiLU) }},
			"Subsample": {mels, sub.Width(), out, func(dst, x engine.Tensor, lens []int) { b.gpu.Subsample(dst, x, lens, sub) }},
		} {
			values := b.random(rows * op.cols)
			x := b.put(values, rows, op.cols, plain)
			for i := lens[0] * op.cols; i < (lens[0]+lens[1])*op.cols; i++ {
				values[i] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 60000}[i%4]
			}
			spoilt := b.put(values, rows, op.cols, plain)
			dst, beside := b.blank(total(op.lens), op.width, plain), b.blank(total(op.lens), op.width, plain)
			op.run(dst.gpu, x.gpu, lens)
			op.run(beside.gpu, spoilt.gpu, lens)
			want, got := b.get(dst.gpu), b.get(beside.gpu)
			first, last := op.lens[0]*op.width, (op.lens[0]+op.lens[1])*op.width
			if !slices.Equal(got[:first], want[:first]) || !slices.Equal(got[last:], want[last:]) {
				t.Errorf("%s: an item shows what is beside it", name)
			}
		}
	})
}

// TestScratchOutOfMemory: an operation that finds no memory for what lies between says so
// at the next wait, and the device goes on.
func TestScratchOutOfMemory(t *testing.T) {
	d, gpu := emulated(t, Config{})
	b := &bench{T: t, gpu: d, r: rand.New(rand.NewPCG(1, 2))}
	sub := must(d.NewSubsampling(b.subsamplingWeights(80, 64, 1)))
	const rows = 4000
	x, dst := must(d.Alloc(rows*80)), must(d.Alloc(rows/4*sub.Width()))
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	gpu.Set("MEMORY", 4<<20)
	d.Subsample(engine.NewTensor(dst, rows/4, sub.Width()), engine.NewTensor(x, rows, 80), []int{rows}, sub)
	var want *OutOfMemoryError
	if err := d.Sync(); !errors.As(err, &want) {
		t.Errorf("got %v", err)
	}
	gpu.Set("MEMORY", 8<<30)
	d.Subsample(engine.NewTensor(dst, rows/4, sub.Width()), engine.NewTensor(x, rows, 80), []int{rows}, sub)
	if err := d.Sync(); err != nil {
		t.Error("with memory:", err)
	}
}
