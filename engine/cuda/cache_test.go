//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"hark/engine"
)

func TestCachedAttention(t *testing.T) {
	onBoth(t, func(b *bench) {
		for i, c := range []struct{ width, heads int }{{24, 3}, {20, 4}, {128, 2}, {100, 1}} {
			l := attentionLayouts[i%len(attentionLayouts)]
			b.inBothOrders(func(order string) {
				const layers, slots, length = 2, 4, 150
				here, there := must(b.gpu.NewCache(layers, slots, length, c.width)), must(b.cpu.NewCache(layers, slots, length, c.width))
				step := func(rows ...engine.CacheRow) {
					b.Helper()
					for layer := range layers {
						x, dst := b.put(b.random(len(rows)*3*c.width), len(rows), 3*c.width, l), b.blank(len(rows), c.width, l)
						b.gpu.CachedAttention(dst.gpu, x.gpu, here, layer, c.heads, rows)
						b.cpu.CachedAttention(dst.cpu, x.cpu, there, layer, c.heads, rows)
						b.near(fmt.Sprint(c, l, order, rows), dst, 1)
					}
				}
				step(engine.CacheRow{Slot: 1}, engine.CacheRow{Slot: 1, Position: 1}, engine.CacheRow{Slot: 3}, engine.CacheRow{Slot: 1, Position: 2})
				step(engine.CacheRow{Slot: 3, Position: 1}, engine.CacheRow{Slot: 1, Position: 3})
				step()
				step(engine.CacheRow{Slot: 1, Position: 2}) // told anew
				var prompt []engine.CacheRow
				for p := range int32(length) {
					prompt = append(prompt, engine.CacheRow{Slot: 0, Position: p})
				}
				for from := 0; from < length; from += 49 {
					step(prompt[from:min(from+49, length)]...)
				}
			})
		}
		c, x := must(b.gpu.NewCache(1, 2, 3, 8)), b.blank(1, 24, layout{8, 0, false})
		for _, row := range []engine.CacheRow{{Slot: 2}, {Slot: -1}, {Position: 3}} {
			if !panics(func() {
				b.gpu.CachedAttention(b.blank(1, 8, layout{8, 0, false}).gpu, x.gpu, c, 0, 1, []engine.CacheRow{row})
			}) {
				t.Errorf("%+v: no panic", row)
			}
		}
		for _, shape := range [][4]int{{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}} {
			if _, err := b.gpu.NewCache(shape[0], shape[1], shape[2], shape[3]); err == nil {
				t.Errorf("cache of %v: no error", shape)
			}
		}
	})
}

// TestCachedAttentionRowsAlone holds a prompt in one call to the same rows one by one, to the bit.
func TestCachedAttentionRowsAlone(t *testing.T) {
	onBoth(t, func(b *bench) {
		const length, width, heads = 70, 64, 1
		plain := layout{8, 0, false}
		x, whole, single := b.put(b.random(length*3*width), length, 3*width, plain), b.blank(length, width, plain), b.blank(length, width, plain)
		c := must(b.gpu.NewCache(1, 2, length, width))
		var rows []engine.CacheRow
		for i := range length {
			rows = append(rows, engine.CacheRow{Slot: 1, Position: int32(i)})
			one := []engine.CacheRow{{Slot: 0, Position: int32(i)}}
			b.gpu.CachedAttention(single.gpu.Slice(i, i+1), x.gpu.Slice(i, i+1), c, 0, heads, one)
		}
		b.gpu.CachedAttention(whole.gpu, x.gpu, c, 0, heads, rows)
		if !slices.Equal(b.get(whole.gpu), b.get(single.gpu)) {
			t.Error("a prompt's rows alone differ from the prompt at once")
		}
	})
}

// TestCopySlots holds all of a cache to copies of what it had before.
func TestCopySlots(t *testing.T) {
	const layers, slots, length = 2, 6, 3
	d := newDevice(t, Config{})
	r := rand.New(rand.NewPCG(1, 2))
	cases := []struct {
		to, from []int32
		lens     []int
	}{
		{nil, nil, nil},
		{[]int32{0}, []int32{1}, []int{2}},
		{[]int32{0, 1}, []int32{1, 0}, []int{3, 2}},
		{[]int32{0, 1, 2, 3}, []int32{1, 2, 0, 0}, []int{1, 2, 3, 3}},
		{[]int32{0, 1, 2, 3, 4, 5}, []int32{1, 0, 3, 2, 5, 4}, []int{3, 3, 3, 3, 3, 3}},
		{[]int32{5, 4, 3, 2, 1, 0}, []int32{4, 3, 2, 1, 0, 5}, []int{3, 2, 1, 3, 2, 1}},
		{[]int32{1, 2, 3}, []int32{0, 1, 2}, []int{3, 3, 3}},
		{[]int32{3, 2, 1}, []int32{3, 2, 2}, []int{3, 3, 0}},
		{[]int32{0, 1, 2}, []int32{0, 0, 0}, []int{3, 3, 3}},
	}
	for range 40 { // permutations and maps
		var to, from []int32
		var lens []int
		for _, s := range r.Perm(slots)[:r.IntN(slots+1)] {
			to, from, lens = append(to, int32(s)), append(from, int32(r.IntN(slots))), append(lens, r.IntN(length+1))
		}
		cases = append(cases, struct {
			to, from []int32
			lens     []int
		}{to, from, lens})
	}
	for i, c := range cases {
		width := []int{5, 16}[i%2]
		cc := must(d.NewCache(layers, slots, length, width)).(*cache)
		all := engine.NewTensor(cc.data, 2*layers*slots*length, width)
		want := make([]float32, all.Rows*width)
		for j := range want {
			want[j] = float32(r.IntN(2000))
		}
		d.Upload(all, want)
		before := slices.Clone(want)
		for part := range 2 * layers {
			for j := range c.to {
				to, from := (part*slots+int(c.to[j]))*length*width, (part*slots+int(c.from[j]))*length*width
				copy(want[to:][:c.lens[j]*width], before[from:])
			}
		}
		d.CopySlots(cc, c.to, c.from, c.lens)
		got := make([]float32, len(want))
		if err := d.Download(got, all); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("case %d, %+v: wrong contents", i, c)
		}
	}
	cc := must(d.NewCache(layers, slots, length, 4))
	for name, f := range map[string]func(){
		"two to one":   func() { d.CopySlots(cc, []int32{0, 0}, []int32{1, 2}, []int{1, 1}) },
		"slot unknown": func() { d.CopySlots(cc, []int32{slots}, []int32{1}, []int{1}) },
		"too long":     func() { d.CopySlots(cc, []int32{0}, []int32{1}, []int{length + 1}) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}
