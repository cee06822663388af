//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"hark/engine"
)

func TestLinear(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, c := range []struct{ m, n, k int }{
			{0, 8, 8}, {1, 1, 1}, {1, 200, 33}, {3, 7, 5}, {5, 130, 64}, {17, 16, 128}, {33, 40, 72}, {70, 65, 40}, {130, 129, 17},
		} {
			w, bias := b.random(c.n*c.k), b.random(c.n)
			for i, l := range layouts {
				x, dst := b.put(b.random(c.m*c.k), c.m, c.k, l), b.blank(c.m, c.n, layouts[(i+1)%len(layouts)])
				residual := b.put(b.random(c.m*c.n), c.m, c.n, layouts[(i+2)%len(layouts)])
				for act := engine.NoActivation; act <= engine.SiLU; act++ {
					b.do(func(d engine.Device, on func(pair) engine.Tensor) {
						linear := must(d.NewLinear(w, bias, c.n, c.k))
						if many, ok := d.(engine.ManyRowsDevice); ok && act%2 == 0 {
							many.ManyRows(linear)
						}
						d.Linear(on(dst), on(x), linear, act, on(residual))
					})
					b.same(fmt.Sprint(c, l, "activation ", act), dst, float64(c.k))
				}
				b.do(func(d engine.Device, on func(pair) engine.Tensor) {
					d.Linear(on(dst), on(x), must(d.NewLinear(w, nil, c.n, c.k)), engine.NoActivation, engine.Tensor{})
				})
				b.same(fmt.Sprint(c, l, "bare"), dst, float64(c.k))
				b.do(func(d engine.Device, on func(pair) engine.Tensor) {
					d.Linear(on(residual), on(x), must(d.NewLinear(w, bias, c.n, c.k)), engine.GELU, on(residual))
				})
				b.same(fmt.Sprint(c, l, "in place"), residual, float64(c.k))
			}
		}
	})
}

// TestLinearHalf holds weights that come as halves to the same as float32.
func TestLinearHalf(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, k := range []int{64, 37} {
			const m, n = 5, 30
			halves, bias := make([]byte, 2*n*k), b.random(n)
			f16.encode(halves, b.random(n*k))
			w := make([]float32, n*k)
			f16.decode(w, halves)
			x, dst := b.put(b.random(m*k), m, k, layouts[0]).gpu, b.blank(m, n, layouts[2]).gpu
			b.gpu.Linear(dst, x, must(b.gpu.NewLinear(w, bias, n, k)), engine.NoActivation, engine.Tensor{})
			want := b.get(dst)
			b.gpu.Linear(dst, x, must(b.gpu.NewLinearHalf(halves, bias, n, k)), engine.NoActivation, engine.Tensor{})
			if !slices.Equal(b.get(dst), want) {
				b.Errorf("width %d: other results than of the same weights in float32", k)
			}
			if _, err := b.gpu.NewLinearHalf(halves, nil, n, k+1); err == nil {
				b.Error("too few bytes: no error")
			}
		}
	})
}

// TestTilesAgree holds all kernels of a set of tiles to the same bits, and with them a
// row alone to the row in any batch.
func TestTilesAgree(t *testing.T) {
	onBoth(t, func(b *bench) {
		const m, n, k = 131, 136, 200
		w := must(b.gpu.NewLinear(b.random(n*k), b.random(n), n, k)).(linear)
		x, dst := b.put(b.random(m*k), m, k, layouts[0]).gpu, b.blank(m, n, layouts[2]).gpu
		by := func(t *tile, from, to int) {
			b.gpu.mu.Lock()
			defer b.gpu.mu.Unlock()
			b.gpu.multiplyBy(t, &product{dst.Slice(from, to), x.Slice(from, to), w.weight, engine.GELU, engine.Tensor{}})
		}
		for _, set := range []tileSet{manyRows, fewRows} {
			var first []float32
			for _, t := range set.all() {
				by(&t, 0, m)
				got := b.get(dst)
				if first == nil {
					first = got
				}
				if !slices.Equal(got, first) {
					b.Errorf("%s: other bits than %s", t.name, set.whole[0].name)
				}
				b.gpu.Upload(dst, make([]float32, m*n))
				by(&t, 0, 60)
				by(&t, 60, 61)
				by(&t, 61, m)
				if !slices.Equal(b.get(dst), first) {
					b.Errorf("%s: rows alone differ from rows in a batch", t.name)
				}
			}
		}
	})
}

func (s tileSet) all() []tile { return append(slices.Clone(s.whole), s.any) }

// TestTilesAreTheKernels holds the shapes here to those in the kernels' sources.
func TestTilesAreTheKernels(t *testing.T) {
	found := map[string]tile{}
	for _, file := range []string{"matmul.cu", "conv.cu"} {
		source, err := os.ReadFile("../../kernels/cuda/" + file)
		if err != nil {
			t.Fatal(err)
		}
		line := regexp.MustCompile(`(?:MATMUL|CONV)\((\w+)_##type, T, (?:true|false), (\d+), (\d+), (\d+), (\d+), (\d+), (\d+)(?:, (\d+))?\)`)
		for _, m := range line.FindAllSubmatch(source, -1) {
			n := [7]int{6: 1}
			for i := range n {
				fmt.Sscan(string(m[i+2]), &n[i])
			}
			found[string(m[1])] = tile{string(m[1]), n[0], n[1], n[2], n[5], n[6] * (n[0] / n[3]) * (n[1] / n[4]) * 32}
		}
	}
	all := append(append(manyRows.all(), fewRows.all()...), convTile, anyConvTile)
	if len(found) != len(all) {
		t.Errorf("%d kernels, %d tiles", len(found), len(all))
	}
	for _, want := range all {
		if found[want.name] != want {
			t.Errorf("got %+v, the source has %+v", want, found[want.name])
		}
	}
}

func TestPick(t *testing.T) {
	for _, c := range []struct {
		set                   tileSet
		m, n, multiprocessors int
		want                  string
	}{
		{manyRows, 6000, 1280, 132, "matmul_128x128"},
		{manyRows, 1500, 1280, 132, "matmul_128x128"},
		{manyRows, 3000, 384, 132, "matmul_128x64"},
		{manyRows, 1500, 384, 132, "matmul_64x64"},
		{manyRows, 1, 384, 132, "matmul_32x32"},
		{fewRows, 1, 51866, 132, "decode_16x16"},
		{fewRows, 16, 51866, 132, "decode_64x64"},
		{fewRows, 8, 1280, 58, "decode_16x16"},
		{fewRows, 64, 1280, 58, "decode_32x32"},
		{fewRows, 1, 8, 132, "decode_16x16"},
	} {
		if got := c.set.pick(c.m, c.n, c.multiprocessors).name; got != c.want {
			t.Errorf("%d x %d on %d: %s, want %s", c.m, c.n, c.multiprocessors, got, c.want)
		}
	}
}

func TestLinearRefuses(t *testing.T) {
	d := newDevice(t, Config{})
	if _, err := d.NewLinear(make([]float32, 5), nil, 2, 3); err == nil {
		t.Error("5 weights make no 2 x 3")
	}
	if _, err := d.NewLinear(make([]float32, 6), make([]float32, 3), 2, 3); err == nil {
		t.Error("3 biases for 2 outputs")
	}
	l := must(d.NewLinear(make([]float32, 6), nil, 2, 3))
	if n, k := l.Shape(); n != 2 || k != 3 {
		t.Errorf("shape %d x %d", n, k)
	}
	x, dst := engine.NewTensor(must(d.Alloc(12)), 4, 3), engine.NewTensor(must(d.Alloc(8)), 4, 2)
	for name, f := range map[string]func(){
		"x too narrow":       func() { d.Linear(dst, x.Columns(0, 2), l, engine.NoActivation, engine.Tensor{}) },
		"dst too short":      func() { d.Linear(dst.Slice(0, 3), x, l, engine.NoActivation, engine.Tensor{}) },
		"residual too short": func() { d.Linear(dst, x, l, engine.NoActivation, dst.Slice(0, 3)) },
		"activation unknown": func() { d.Linear(dst, x, l, 99, engine.Tensor{}) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}
