package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"hark/engine"
)

func TestAttention(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		for _, c := range []struct {
			lens             []int
			dim, heads, more int
		}{
			{[]int{1}, 4, 1, 0}, {[]int{3, 0, 50, 17}, 24, 3, 0}, {[]int{130, 60}, 64, 2, 0},
			{[]int{1}, 4, 1, 1}, {[]int{3, 0, 50, 17}, 24, 3, 7}, {[]int{0, 95, 60}, 64, 2, 37}, {[]int{5, 11}, 16, 1, 64},
		} {
			t.Run(fmt.Sprint(c), func(t *testing.T) {
				qkv, want := attentionItems(c.lens, c.dim, c.heads, c.more)
				x := put(t, d, qkv, 3*c.dim)
				for _, p := range []Precision{F32, Int8, Int8Fast} {
					d, dst := d.At(p), put(t, d, newMatrix(len(want), c.dim), c.dim)
					d.Attention(dst, x, c.lens, c.heads, c.more)
					got := get(t, d, dst)
					if p == F32 {
						want.close(t, got)
					} else if e := relativeError(got, want.flat()); !(e <= 0.02) { // as TestPrecisionErrors
						t.Errorf("%v: the relative error is %.4f", p, e)
					}

					last := c.lens[len(c.lens)-1]
					alone := put(t, d, newMatrix(last, c.dim), c.dim)
					d.Attention(alone, x.Slice(x.Rows-last-c.more, x.Rows), []int{last}, c.heads, c.more)
					if !slices.Equal(get(t, d, alone), got[len(got)-last*c.dim:]) {
						t.Errorf("%v: an item alone differs from the item in a batch", p)
					}
				}
			})
		}
	})
}

// attentionItems makes a batch of items, each with more rows behind it whose queries
// are no numbers, and what should come out.
func attentionItems(lens []int, dim, heads, more int) (qkv, want matrix) {
	r, dh := rng(), dim/heads
	for _, l := range lens {
		item, out := random(r, l+more, 3*dim), newMatrix(l, dim)
		for i := range out {
			for off := 0; off < dim; off += dh {
				o, _ := attend(item[i], item.columns(dim, 2*dim), item.columns(2*dim, 3*dim), off, dh)
				copy(out[i][off:], o)
			}
		}
		for _, row := range item[l:] {
			for c := range dim {
				row[c] = math.NaN()
			}
		}
		qkv, want = append(qkv, item...), append(want, out...)
	}
	return qkv, want
}

func TestCachedAttention(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		const layers, slots, length, width, heads = 2, 4, 20, 24, 3
		r := rng()
		c := must(d.NewCache(layers, slots, length, width))
		if c.Slots() != slots {
			t.Errorf("%d slots", c.Slots())
		}
		// said is what each layer and slot was told, the naive cache.
		var said [layers][slots]matrix
		step := func(rows []engine.CacheRow) {
			t.Helper()
			for layer := range layers {
				qkv, want := random(r, len(rows), 3*width), newMatrix(len(rows), width)
				for i, row := range rows {
					s := &said[layer][row.Slot]
					*s = append((*s)[:row.Position:row.Position], qkv[i])
					for off := 0; off < width; off += width / heads {
						o, _ := attend(qkv[i], s.columns(width, 2*width), s.columns(2*width, 3*width), off, width/heads)
						copy(want[i][off:], o)
					}
				}
				dst := put(t, d, newMatrix(len(rows), width), width)
				d.CachedAttention(dst, put(t, d, qkv, 3*width), c, layer, heads, rows)
				want.close(t, get(t, d, dst))
			}
		}
		step([]engine.CacheRow{{Slot: 1, Position: 0}, {Slot: 1, Position: 1}, {Slot: 1, Position: 2}, {Slot: 3, Position: 0}})
		step([]engine.CacheRow{{Slot: 3, Position: 1}, {Slot: 1, Position: 3}})
		step(nil)
		step([]engine.CacheRow{{Slot: 1, Position: 2}}) // told anew
		for p := int32(0); p < length; p++ {
			step([]engine.CacheRow{{Slot: 0, Position: p}})
		}
		buf := put(t, d, newMatrix(1, 3*width), 3*width)
		for _, row := range []engine.CacheRow{{Slot: slots}, {Slot: -1}, {Position: length}} {
			if !panics(func() {
				d.CachedAttention(buf.Columns(0, width), buf, c, 0, heads, []engine.CacheRow{row})
			}) {
				t.Errorf("%+v: no panic", row)
			}
		}
	})
}

// TestCachedAttentionRowsAlone holds a prompt in one call to the same rows one by one, to the bit.
func TestCachedAttentionRowsAlone(t *testing.T) {
	const length, width, heads = 30, 32, 2
	d := newDevice(t, 2)
	qkv := put(t, d, random(rng(), length, 3*width), 3*width)
	c := must(d.NewCache(1, 2, length, width))
	whole, single := put(t, d, newMatrix(length, width), width), put(t, d, newMatrix(length, width), width)
	var rows []engine.CacheRow
	for i := range int32(length) {
		rows = append(rows, engine.CacheRow{Slot: 1, Position: i})
		d.CachedAttention(single.Slice(int(i), int(i)+1), qkv.Slice(int(i), int(i)+1), c, 0, heads, []engine.CacheRow{{Slot: 0, Position: i}})
	}
	d.CachedAttention(whole, qkv, c, 0, heads, rows)
	if !slices.Equal(get(t, d, whole), get(t, d, single)) {
		t.Error("a prompt's rows alone differ from the prompt at once")
	}
}

func TestCopySlots(t *testing.T) {
	const layers, slots, length, width = 3, 6, 4, 5
	onDevices(t, func(t *testing.T, d *Device) {
		r := rng()
		for i, c := range []struct {
			to, from []int32
			lens     []int
		}{
			{nil, nil, nil},
			{[]int32{0}, []int32{1}, []int{2}},
			{[]int32{0, 1}, []int32{1, 0}, []int{4, 3}},
			{[]int32{0, 1, 2, 3}, []int32{1, 2, 0, 0}, []int{1, 2, 3, 4}},
			{[]int32{0, 1, 2, 3, 4, 5}, []int32{1, 0, 3, 2, 5, 4}, []int{4, 4, 4, 4, 4, 4}},
			{[]int32{5, 4, 3, 2, 1, 0}, []int32{4, 3, 2, 1, 0, 5}, []int{4, 3, 2, 1, 4, 3}},
			{[]int32{1, 2, 3}, []int32{0, 1, 2}, []int{4, 4, 4}},
			{[]int32{3, 2, 1}, []int32{3, 2, 2}, []int{4, 4, 0}},
			{[]int32{0, 1, 2}, []int32{0, 0, 0}, []int{4, 4, 4}},
		} {
			cc := must(d.NewCache(layers, slots, length, width)).(*cache)
			for i := range cc.keys {
				cc.keys[i], cc.values[i] = r.Float32(), r.Float32()
			}
			keys, values := slices.Clone(cc.keys), slices.Clone(cc.values)
			for j := range c.to {
				for layer := range layers {
					to, from, n := cc.at(layer, int(c.to[j]), 0), cc.at(layer, int(c.from[j]), 0), c.lens[j]*width
					copy(keys[to:][:n], cc.keys[from:])
					copy(values[to:][:n], cc.values[from:])
				}
			}
			d.CopySlots(cc, c.to, c.from, c.lens)
			if !slices.Equal(cc.keys, keys) || !slices.Equal(cc.values, values) {
				t.Errorf("case %d: wrong contents", i)
			}
		}
		cc := must(d.NewCache(layers, slots, length, width))
		for name, f := range map[string]func(){
			"two to one":   func() { d.CopySlots(cc, []int32{0, 0}, []int32{1, 2}, []int{1, 1}) },
			"slot unknown": func() { d.CopySlots(cc, []int32{slots}, []int32{1}, []int{1}) },
			"too long":     func() { d.CopySlots(cc, []int32{0}, []int32{1}, []int{length + 1}) },
		} {
			if !panics(f) {
				t.Errorf("%s: no panic", name)
			}
		}
	})
}

// TestCopySlotsAtRandom copies random permutations and maps.
func TestCopySlotsAtRandom(t *testing.T) {
	const slots, length = 9, 3
	d := newDevice(t, 1)
	r := rng()
	cc := must(d.NewCache(1, slots, length, 1)).(*cache)
	for range 2000 {
		for i := range cc.keys {
			cc.keys[i] = r.Float32()
		}
		want := slices.Clone(cc.keys)
		var to, from []int32
		var lens []int
		for _, s := range r.Perm(slots)[:r.IntN(slots+1)] {
			f, l := r.IntN(slots), r.IntN(length+1)
			to, from, lens = append(to, int32(s)), append(from, int32(f)), append(lens, l)
			copy(want[s*length:][:l], cc.keys[f*length:])
		}
		d.CopySlots(cc, to, from, lens)
		if !slices.Equal(cc.keys, want) {
			t.Fatalf("to %v, from %v, lens %v", to, from, lens)
		}
	}
}

func TestCrossAttention(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		const layers, slots, length, width, heads = 2, 3, 70, 24, 3
		dh := width / heads
		r := rng()
		c := must(d.NewCross(layers, slots, length, width, heads))
		if c.Slots() != slots {
			t.Errorf("%d slots", c.Slots())
		}
		for round, lens := range [][slots]int{{70, 1, 33}, {12, 12, 12}} {
			var kv [slots]matrix
			for layer := range layers {
				for s := range slots {
					kv[s] = random(r, lens[s], 2*width)
					d.StoreCross(c, layer, s, put(t, d, kv[s], 2*width))
				}
				slotOf := []int32{2, 2, 0, 1, 0, 0, 2}
				q, want := random(r, len(slotOf), width), newMatrix(len(slotOf), width)
				ask := []int{2, 0}
				probs := newMatrix(len(ask)*len(slotOf), lens[0])
				for i, s := range slotOf {
					for h := range heads {
						o, p := attend(q[i], kv[s].columns(0, width), kv[s].columns(width, 2*width), h*dh, dh)
						copy(want[i][h*dh:], o)
						if j := slices.Index(ask, h); j >= 0 && round == 1 {
							copy(probs[j*len(slotOf)+i], p)
						}
					}
				}
				tq, dst := put(t, d, q, width), put(t, d, newMatrix(len(slotOf), width), width)
				tp := put(t, d, newMatrix(len(probs), lens[0]), lens[0])
				if round == 1 {
					d.CrossAttention(dst, tq, c, layer, slotOf, tp, ask)
				} else {
					d.CrossAttention(dst, tq, c, layer, slotOf, engine.Tensor{}, nil)
				}
				got := get(t, d, dst)
				want.close(t, got)
				probs.close(t, get(t, d, tp))
				for i := range slotOf {
					d.CrossAttention(dst.Slice(i, i+1), tq.Slice(i, i+1), c, layer, slotOf[i:i+1], engine.Tensor{}, nil)
				}
				if !slices.Equal(get(t, d, dst), got) {
					t.Error("rows alone differ from rows in a batch")
				}
				if round == 0 && !panics(func() { d.CrossAttention(dst, tq, c, layer, slotOf, tp, ask) }) {
					t.Error("distributions of different lengths: no panic")
				}
			}
		}
	})
}

// TestCrossAttentionLongPrompt has more rows of one slot than a block, with their distributions.
func TestCrossAttentionLongPrompt(t *testing.T) {
	const m, length, width = 2*queryRows + 5, 40, 16
	d := newDevice(t, 2)
	r := rng()
	kv, q := random(r, length, 2*width), random(r, m, width)
	c := must(d.NewCross(1, 1, length, width, 1))
	d.StoreCross(c, 0, 0, put(t, d, kv, 2*width))
	want, probs := newMatrix(m, width), newMatrix(m, length)
	for i := range q {
		want[i], probs[i] = attend(q[i], kv.columns(0, width), kv.columns(width, 2*width), 0, width)
	}
	dst, tp := put(t, d, want, width), put(t, d, newMatrix(m, length), length)
	d.CrossAttention(dst, put(t, d, q, width), c, 0, make([]int32, m), tp, []int{0})
	want.close(t, get(t, d, dst))
	probs.close(t, get(t, d, tp))

	d.StoreCross(c, 0, 0, put(t, d, nil, 2*width))
	d.CrossAttention(dst, put(t, d, q, width), c, 0, make([]int32, m), engine.Tensor{}, nil)
	newMatrix(m, width).close(t, get(t, d, dst))
	if !panics(func() { d.StoreCross(c, 0, 1, put(t, d, kv, 2*width)) }) {
		t.Error("a slot that isn't there: no panic")
	}
}
