//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
	"slices"
	"testing"

	"hark/engine"
)

func TestConv(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, c := range []struct {
			lens                    []int
			out, in, kernel, stride int
		}{
			{[]int{1}, 3, 2, 3, 1},
			{[]int{1, 2, 3, 0, 130}, 5, 8, 3, 1},
			{[]int{1, 2, 3, 0, 131, 100}, 7, 16, 3, 2},
			{[]int{0, 9, 4, 0}, 70, 3, 1, 1},
			{[]int{9, 12}, 2, 24, 5, 3},
			{nil, 2, 2, 3, 1},
		} {
			rows, outRows := 0, 0
			for _, l := range c.lens {
				rows, outRows = rows+l, outRows+ceilDiv(l, c.stride)
			}
			w, bias := b.random(c.out*c.in*c.kernel), b.random(c.out)
			for i, l := range layouts {
				x, dst := b.put(b.random(rows*c.in), rows, c.in, l), b.blank(outRows, c.out, layouts[(i+1)%len(layouts)])
				b.do(func(d engine.Device, on func(pair) engine.Tensor) {
					h := must(d.NewConv(w, bias, c.out, c.in, c.kernel, c.stride))
					if h.OutChannels() != c.out {
						b.Errorf("%d channels", h.OutChannels())
					}
					d.Conv(on(dst), on(x), c.lens, h, engine.GELU)
				})
				b.same(fmt.Sprint(c, l), dst, float64(c.in*c.kernel))
			}
		}
	})
}

// TestConvItemsAlone holds an item of a batch to the same item alone, to the bit.
func TestConvItemsAlone(t *testing.T) {
	onBoth(t, func(b *bench) {
		lens := []int{70, 131, 5}
		const out, in = 40, 16
		h := must(b.gpu.NewConv(b.random(out*in*3), nil, out, in, 3, 2))
		x := b.put(b.random(206*in), 206, in, layouts[0]).gpu
		dst, alone := b.blank(35+66+3, out, layouts[1]).gpu, b.blank(66, out, layouts[1]).gpu
		b.gpu.Conv(dst, x, lens, h, engine.SiLU)
		b.gpu.Conv(alone, x.Slice(70, 201), lens[1:2], h, engine.SiLU)
		if !slices.Equal(b.get(alone), b.get(dst)[35*out:][:66*out]) {
			b.Error("an item alone differs from the item in a batch")
		}
	})
}

func TestConvRefuses(t *testing.T) {
	d := newDevice(t, Config{})
	if _, err := d.NewConv(make([]float32, 11), nil, 2, 2, 3, 1); err == nil {
		t.Error("11 weights make no 2 x 2 x 3")
	}
	c := must(d.NewConv(make([]float32, 12), nil, 2, 2, 3, 2))
	x, dst := engine.NewTensor(must(d.Alloc(10)), 5, 2), engine.NewTensor(must(d.Alloc(6)), 3, 2)
	if !panics(func() { d.Conv(dst, x, []int{4}, c, engine.NoActivation) }) {
		t.Error("lens that don't add up: no panic")
	}
	if !panics(func() { d.Conv(dst.Slice(0, 2), x, []int{5}, c, engine.NoActivation) }) {
		t.Error("dst too short: no panic")
	}
}
