//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"hark/engine"
	"hark/engine/cuda/emu"
)

// attentionLayouts are how tensors of attention lie in tests: as in models, and as nothing can be read at once.
var attentionLayouts = []layout{{8, 0, false}, {5, 3, false}, {3, 1, true}}

// inBothOrders runs a test with the threads of a block in one order and in the other: a barrier that is missing shows.
func (b *bench) inBothOrders(test func(order string)) {
	b.Helper()
	_, gpu := emu.Driver(b)
	for _, order := range []string{"", "rev"} {
		if gpu != nil {
			gpu.SetText("ORDER", order)
			b.Cleanup(func() { gpu.SetText("ORDER", "") })
		}
		test(order)
	}
}

// near holds what came out to what the CPU has, with an error of some units in the last place of 1 in the storage's
// format. Attention rounds weights to it, of which the greatest are near 1.
func (b *bench) near(what string, p pair, units float64) {
	b.Helper()
	want := make([]float32, p.cpu.Rows*p.cpu.Cols)
	if err := b.cpu.Download(want, p.cpu); err != nil {
		b.Fatal(err)
	}
	unit := map[format]float64{f16: 0x1p-11, bf16: 0x1p-8}[b.gpu.working()]
	for i, g := range b.get(p.gpu) {
		if w := float64(want[i]); !(math.Abs(float64(g)-w) <= units*unit*(1+math.Abs(w))) {
			b.Fatalf("%s: row %d, column %d: got %v, want %v", what, i/p.cpu.Cols, i%p.cpu.Cols, g, w)
		}
	}
}

// alone holds the last rows of a result to the same bits computed alone.
func (b *bench) alone(what string, whole engine.Tensor, rows int, run func(dst engine.Tensor)) {
	b.Helper()
	dst := b.blank(rows, whole.Cols, layout{8, 0, formatOf(whole) == f32})
	run(dst.gpu)
	all := b.get(whole)
	if !slices.Equal(b.get(dst.gpu), all[len(all)-rows*whole.Cols:]) {
		b.Errorf("%s: an item alone differs from the item in a batch", what)
	}
}

func TestAttention(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, c := range []struct {
			lens             []int
			dim, heads, more int
		}{
			{[]int{1}, 4, 1, 0}, {[]int{3, 0, 50, 17}, 24, 3, 0}, {[]int{130, 65, 64}, 64, 1, 0}, {[]int{129, 40}, 192, 2, 0}, {nil, 8, 1, 0},
			{[]int{3, 0, 50, 17}, 24, 3, 7}, {[]int{0, 70, 130, 5}, 64, 1, 64}, {[]int{33, 40}, 192, 2, 37},
		} {
			for i, l := range attentionLayouts {
				rows, last := total(c.lens), 0
				if len(c.lens) > 0 {
					last = c.lens[len(c.lens)-1]
				}
				all := rows + len(c.lens)*c.more
				x := b.put(b.attentionItems(c.lens, c.dim, c.more), all, 3*c.dim, l)
				b.inBothOrders(func(order string) {
					dst := b.blank(rows, c.dim, attentionLayouts[(i+1)%len(attentionLayouts)])
					b.do(func(d engine.Device, on func(pair) engine.Tensor) {
						d.Attention(on(dst), on(x), c.lens, c.heads, c.more)
					})
					what := fmt.Sprint(c, l, order)
					b.near(what, dst, 2)
					b.alone(what, dst.gpu, last, func(dst engine.Tensor) {
						b.gpu.Attention(dst, x.gpu.Slice(all-last-c.more, all), []int{last}, c.heads, c.more)
					})
				})
			}
		}
		x := b.blank(2, 3*130, layout{8, 0, false})
		if !panics(func() { b.gpu.Attention(b.blank(2, 130, layout{8, 0, false}).gpu, x.gpu, []int{2}, 1, 0) }) {
			t.Error("a head of 130 columns: no panic")
		}
	})
}

// attentionItems is a batch of items as Attention takes them. The queries of the rows behind an item are no numbers.
func (b *bench) attentionItems(lens []int, dim, more int) []float32 {
	var values []float32
	for _, l := range lens {
		item := b.random((l + more) * 3 * dim)
		for r := l; r < l+more; r++ {
			for c := range dim {
				item[r*3*dim+c] = float32(math.NaN())
			}
		}
		values = append(values, item...)
	}
	return values
}

// TestAttentionPeaks has scores far apart, so that what came before a greater one must decay to nothing.
func TestAttentionPeaks(t *testing.T) {
	onBoth(t, func(b *bench) {
		const rows, dim = 150, 64
		values := b.random(rows * 3 * dim)
		for r := range rows {
			for c := range 2 * dim {
				values[r*3*dim+c] *= float32(1 + r%7)
			}
		}
		values = b.rounded(values)
		x, dst := b.put(values, rows, 3*dim, layout{8, 0, false}), b.blank(rows, dim, layout{8, 0, false})
		b.do(func(d engine.Device, on func(pair) engine.Tensor) { d.Attention(on(dst), on(x), []int{rows}, 1, 0) })
		b.near("peaks", dst, 2)
	})
}

func TestRelativeAttention(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, c := range []struct {
			lens       []int
			dim, heads int
			extra      int // positions beyond what the longest item needs, on either side
		}{{[]int{1}, 4, 1, 0}, {[]int{3, 0, 50, 17}, 24, 3, 4}, {[]int{130, 65, 64}, 64, 2, 1}, {[]int{66, 97}, 64, 1, 0}, {[]int{70, 33}, 256, 2, 3}} {
			for i, l := range attentionLayouts {
				rows, last, reach := total(c.lens), c.lens[len(c.lens)-1], slices.Max(c.lens)+c.extra
				x := b.put(b.random(rows*3*c.dim), rows, 3*c.dim, l)
				pos := b.put(b.random((2*reach-1)*c.dim), 2*reach-1, c.dim, attentionLayouts[(i+1)%len(attentionLayouts)])
				bias := b.put(b.random(2*c.dim), 2, c.dim, l)
				b.inBothOrders(func(order string) {
					dst := b.blank(rows, c.dim, l)
					b.do(func(d engine.Device, on func(pair) engine.Tensor) {
						d.RelativeAttention(on(dst), on(x), c.lens, c.heads, on(pos), on(bias))
					})
					what := fmt.Sprint(c, l, order)
					// Queries are rounded once more, with their biases, and scores are sums of two products.
					b.near(what, dst, 12)
					b.alone(what, dst.gpu, last, func(dst engine.Tensor) {
						middle := pos.gpu.Slice(reach-last, reach+last-1)
						b.gpu.RelativeAttention(dst, x.gpu.Slice(rows-last, rows), []int{last}, c.heads, middle, bias.gpu)
					})
				})
			}
		}
		x, pos, bias := b.blank(5, 24, layout{8, 0, false}), b.blank(7, 8, layout{8, 0, false}), b.blank(2, 8, layout{8, 0, false})
		if !panics(func() {
			b.gpu.RelativeAttention(b.blank(5, 8, layout{8, 0, false}).gpu, x.gpu, []int{5}, 1, pos.gpu, bias.gpu)
		}) {
			t.Error("too few positions: no panic")
		}
	})
}
