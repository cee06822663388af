//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
	"math"
	"testing"

	"hark/engine"
)

func TestGatherAndScatter(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, cols := range []int{1, 7, 64, 300} {
			for i, l := range layouts {
				src, dst := b.put(b.random(6*cols), 6, cols, l), b.blank(4, cols, layouts[(i+1)%len(layouts)])
				b.do(func(d engine.Device, on func(pair) engine.Tensor) { d.Gather(on(dst), on(src), []int32{5, 0, 5, 3}) })
				b.same(fmt.Sprint("gather", cols, l), dst, 0)
				b.do(func(d engine.Device, on func(pair) engine.Tensor) { d.Scatter(on(src), on(dst), []int32{4, 0, 2, 1}) })
				b.same(fmt.Sprint("scatter", cols, l), src, 0)
				b.do(func(d engine.Device, on func(pair) engine.Tensor) { d.Gather(on(dst).Slice(0, 0), on(src), nil) })
			}
		}
	})
}

// TestGatherKeepsBits copies what is no ordinary number.
func TestGatherKeepsBits(t *testing.T) {
	onBoth(t, func(b *bench) {
		inf := float32(math.Inf(1))
		values := b.rounded([]float32{0, float32(math.Copysign(0, -1)), inf, -inf, 0x1p-24, -0x1p-14, 65504, float32(math.NaN())})
		for _, l := range layouts {
			src, dst := b.put(values, 1, 8, l), b.blank(1, 8, l)
			b.gpu.Gather(dst.gpu, src.gpu, []int32{0})
			for i, v := range b.get(dst.gpu) {
				if math.Float32bits(v) != math.Float32bits(values[i]) && !(v != v && values[i] != values[i]) {
					b.Errorf("%v: got %v, want %v", l, v, values[i])
				}
			}
		}
	})
}

func TestAddRows(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, cols := range []int{3, 40, 640} {
			for i, l := range layouts {
				left, right := b.put(b.random(6*cols), 6, cols, l), b.put(b.random(2*cols), 2, cols, layouts[(i+1)%len(layouts)])
				dst := b.blank(4, cols, layouts[(i+2)%len(layouts)])
				for act := engine.NoActivation; act <= engine.SiLU; act++ {
					b.do(func(d engine.Device, on func(pair) engine.Tensor) {
						d.AddRows(on(dst), on(left), []int32{5, 0, 0, 3}, on(right), []int32{0, 1, 0, 1}, act)
					})
					b.same(fmt.Sprint(cols, l, act), dst, 4)
				}
			}
		}
	})
}

// TestActivationsAtTheEdge holds activations of extreme numbers to the CPU's, NaN for NaN.
func TestActivationsAtTheEdge(t *testing.T) {
	onBoth(t, func(b *bench) {
		inf := float32(math.Inf(1))
		values := b.rounded([]float32{0, float32(math.Copysign(0, -1)), inf, -inf, 0x1p-24, 60000, -60000, float32(math.NaN()), 20, -20, -5, -9})
		x, zero := b.put(values, 1, 12, layouts[0]), b.put(make([]float32, 12), 1, 12, layouts[0])
		dst := b.blank(1, 12, layouts[2])
		for act := engine.NoActivation; act <= engine.SiLU; act++ {
			b.do(func(d engine.Device, on func(pair) engine.Tensor) {
				d.AddRows(on(dst), on(x), []int32{0}, on(zero), []int32{0}, act)
			})
			b.same(fmt.Sprint("activation ", act), dst, 1)
		}
	})
}

func TestAddPositions(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, cols := range []int{5, 64} {
			table, lens := b.random(6*cols), []int{3, 0, 6, 1}
			for _, l := range layouts {
				x := b.put(b.random(10*cols), 10, cols, l)
				b.do(func(d engine.Device, on func(pair) engine.Tensor) {
					tab := must(d.NewTable(table, 6, cols))
					if rows, c := tab.Shape(); rows != 6 || c != cols {
						b.Errorf("table of %d x %d", rows, c)
					}
					d.AddPositions(on(x), lens, tab)
				})
				b.same(fmt.Sprint(cols, l), x, 4)
			}
		}
	})
}

func TestEmbed(t *testing.T) {
	onBoth(t, func(b *bench) {
		const vocabulary, length = 50, 6
		for _, cols := range []int{9, 64} {
			w, table := b.random(vocabulary*cols), b.random(length*cols)
			for _, l := range layouts {
				dst := b.blank(5, cols, l)
				b.do(func(d engine.Device, on func(pair) engine.Tensor) {
					d.Embed(on(dst), must(d.NewLinear(w, nil, vocabulary, cols)), []int32{49, 0, 17, 16, 17},
						must(d.NewTable(table, length, cols)), []int32{0, 5, 2, 2, 1})
				})
				b.same(fmt.Sprint(cols, l), dst, 4)
			}
		}
	})
}

func TestRowsRefuse(t *testing.T) {
	d := newDevice(t, Config{})
	x := engine.NewTensor(must(d.Alloc(12)), 4, 3)
	y := engine.NewTensor(must(d.Alloc(12)), 4, 3)
	tab, l := must(d.NewTable(make([]float32, 6), 2, 3)), must(d.NewLinear(make([]float32, 15), nil, 5, 3))
	for name, f := range map[string]func(){
		"gather beyond src":        func() { d.Gather(y.Slice(0, 1), x, []int32{4}) },
		"scatter before dst":       func() { d.Scatter(y, x.Slice(0, 1), []int32{-1}) },
		"addrows beyond b":         func() { d.AddRows(y.Slice(0, 1), x, []int32{0}, x.Slice(0, 2), []int32{2}, 0) },
		"addrows, unequal":         func() { d.AddRows(y.Slice(0, 1), x, []int32{0}, x, nil, 0) },
		"item longer than a table": func() { d.AddPositions(x, []int{1, 3}, tab) },
		"embed beyond vocabulary":  func() { d.Embed(y.Slice(0, 1), l, []int32{5}, tab, []int32{0}) },
		"embed beyond table":       func() { d.Embed(y.Slice(0, 1), l, []int32{0}, tab, []int32{2}) },
		"embed, unequal":           func() { d.Embed(y.Slice(0, 1), l, []int32{0}, tab, nil) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
	if _, err := d.NewTable(make([]float32, 5), 2, 3); err == nil {
		t.Error("5 elements make no 2 x 3")
	}
}
