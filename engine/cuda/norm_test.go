//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"hark/engine"
)

func TestLayerNorm(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, rows := range []int{0, 1, 5, 33} {
			for _, width := range []int{1, 7, 64, 261, 1280, 2003} {
				gamma, beta, values := b.random(width), b.random(width), b.random(rows*width)
				for i, l := range layouts {
					x, dst := b.put(values, rows, width, l), b.blank(rows, width, layouts[(i+1)%len(layouts)])
					b.do(func(d engine.Device, on func(pair) engine.Tensor) {
						n := must(d.NewNorm(gamma, beta, 1e-5))
						if n.Width() != width {
							b.Errorf("width %d", n.Width())
						}
						d.LayerNorm(on(dst), on(x), n)
						d.LayerNorm(on(x), on(x), n)
					})
					b.same(fmt.Sprint(rows, width, l), dst, 4)
					b.same(fmt.Sprint(rows, width, l, "in place"), x, 4)
				}
			}
		}
	})
}

// TestLayerNormFarFromZero has rows whose mean is far greater than what is left without it.
func TestLayerNormFarFromZero(t *testing.T) {
	onBoth(t, func(b *bench) {
		const width = 1280
		values := b.random(2 * width)
		for i := range values[:width] {
			values[i] = 1000 + float32(i%2)*8
		}
		for i := range values[width:] {
			values[width+i] = 5 // no variance at all
		}
		x, dst := b.put(values, 2, width, layouts[0]), b.blank(2, width, layouts[2])
		b.do(func(d engine.Device, on func(pair) engine.Tensor) {
			d.LayerNorm(on(dst), on(x), must(d.NewNorm(slices.Repeat([]float32{1}, width), make([]float32, width), 1e-5)))
		})
		b.same("far from zero", dst, 64)
	})
}

// TestLayerNormRowsAlone holds a row, aligned or not, to the same row alone, to the bit; a NaN stays in its row.
func TestLayerNormRowsAlone(t *testing.T) {
	onBoth(t, func(b *bench) {
		const rows, width = 9, 77
		values := b.random(rows * width)
		values[3*width] = float32(math.NaN())
		n := must(b.gpu.NewNorm(b.random(width), b.random(width), 1e-5))
		for _, l := range layouts {
			x, dst := b.put(values, rows, width, l).gpu, b.blank(rows, width, layouts[2]).gpu
			b.gpu.LayerNorm(dst, x, n)
			all := b.get(dst)
			for i := range rows {
				b.gpu.LayerNorm(dst.Slice(i, i+1), x.Slice(i, i+1), n)
			}
			for i, v := range b.get(dst) {
				if isNaN := v != v; isNaN != (i/width == 3) || !isNaN && v != all[i] {
					b.Fatalf("%v: row %d, column %d: %v alone, %v in a batch", l, i/width, i%width, v, all[i])
				}
			}
		}
	})
}

func TestNormRefuses(t *testing.T) {
	d := newDevice(t, Config{})
	if _, err := d.NewNorm(nil, nil, 1); err == nil {
		t.Error("a norm of no width")
	}
	if _, err := d.NewNorm(make([]float32, 2), make([]float32, 3), 1); err == nil {
		t.Error("2 gains and 3 shifts")
	}
	n := must(d.NewNorm(make([]float32, 3), make([]float32, 3), 1))
	x := engine.NewTensor(must(d.Alloc(6)), 2, 3)
	if !panics(func() { d.LayerNorm(x.Slice(0, 1), x, n) }) || !panics(func() { d.LayerNorm(x, x.Columns(0, 2), n) }) {
		t.Error("wrong shapes: no panic")
	}
}
