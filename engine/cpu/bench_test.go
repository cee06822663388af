package cpu

import (
	"fmt"
	"testing"

	"hark/engine"
)

// The shapes are those of Whisper base: a window of 1500 positions, 512 wide, in 8 heads; a
// step of 5 beams; 51865 ids.
const (
	benchT, benchWidth, benchHeads, benchVocab = 1500, 512, 8, 51865
)

func benchTensor(b *testing.B, d *Device, rows, cols int) engine.Tensor {
	b.Helper()
	x := engine.NewTensor(must(d.Alloc(rows*cols)), rows, cols)
	data, r := x.Buf.(*buffer).data, rng()
	for i := range data {
		data[i] = float32(r.NormFloat64())
	}
	return x
}

func BenchmarkConv(b *testing.B) {
	d := newDevice(b, 0)
	c := must(d.NewConv(make([]float32, benchWidth*benchWidth*3), nil, benchWidth, benchWidth, 3, 2))
	x, dst := benchTensor(b, d, 2*benchT, benchWidth), benchTensor(b, d, benchT, benchWidth)
	for b.Loop() {
		d.Conv(dst, x, []int{2 * benchT}, c, engine.GELU)
	}
}

func BenchmarkAttention(b *testing.B) {
	d := newDevice(b, 0)
	qkv, dst := benchTensor(b, d, benchT, 3*benchWidth), benchTensor(b, d, benchT, benchWidth)
	for b.Loop() {
		d.Attention(dst, qkv, []int{benchT}, benchHeads, 0)
	}
}

func BenchmarkLayerNorm(b *testing.B) {
	d := newDevice(b, 0)
	ones := make([]float32, benchWidth)
	n := must(d.NewNorm(ones, ones, 1e-5))
	x, dst := benchTensor(b, d, benchT, benchWidth), benchTensor(b, d, benchT, benchWidth)
	for b.Loop() {
		d.LayerNorm(dst, x, n)
	}
}

func BenchmarkCrossAttention(b *testing.B) {
	for _, c := range []struct{ slots, beams int }{{1, 1}, {1, 5}, {12, 1}} {
		b.Run(fmt.Sprintf("slots=%d,beams=%d", c.slots, c.beams), func(b *testing.B) {
			d := newDevice(b, 0)
			cross := must(d.NewCross(1, c.slots, benchT, benchWidth, benchHeads))
			kv := benchTensor(b, d, benchT, 2*benchWidth)
			var slots []int32
			for s := range c.slots {
				d.StoreCross(cross, 0, s, kv)
				for range c.beams {
					slots = append(slots, int32(s))
				}
			}
			q, dst := benchTensor(b, d, len(slots), benchWidth), benchTensor(b, d, len(slots), benchWidth)
			for b.Loop() {
				d.CrossAttention(dst, q, cross, 0, slots, engine.Tensor{}, nil)
			}
		})
	}
}

func BenchmarkCachedAttention(b *testing.B) {
	d := newDevice(b, 0)
	c := must(d.NewCache(1, 5, 448, benchWidth))
	var rows []engine.CacheRow
	for s := range int32(5) {
		rows = append(rows, engine.CacheRow{Slot: s, Position: 100})
	}
	qkv, dst := benchTensor(b, d, 5, 3*benchWidth), benchTensor(b, d, 5, benchWidth)
	for b.Loop() {
		d.CachedAttention(dst, qkv, c, 0, benchHeads, rows)
	}
}

func BenchmarkCopySlots(b *testing.B) {
	d := newDevice(b, 0)
	c := must(d.NewCache(6, 5, 448, benchWidth))
	for b.Loop() {
		d.CopySlots(c, []int32{0, 1, 2, 3}, []int32{1, 0, 0, 2}, []int{100, 100, 100, 100})
	}
}

func BenchmarkSelect(b *testing.B) {
	for _, c := range []struct {
		name string
		k    int
		rule engine.Rule
	}{{"greedy", 1, engine.Rule{}}, {"beam", 6, engine.Rule{}}, {"drawn", 1, engine.Rule{Temperature: 0.4, Uniform: 0.5}}} {
		b.Run(c.name, func(b *testing.B) {
			d := newDevice(b, 1)
			x, spent := benchTensor(b, d, 1, benchVocab), benchTensor(b, d, 1, benchVocab)
			x.Buf.(*buffer).data[400] = 20 // text, clearly
			c.rule.MassFrom = 50364
			for b.Loop() {
				d.Gather(spent, x, []int32{0})
				if _, err := d.Select(spent, []engine.Rule{c.rule}, c.k); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEmbed(b *testing.B) {
	d := newDevice(b, 0)
	tokens := must(d.NewLinear(make([]float32, 4096*benchWidth), nil, 4096, benchWidth))
	table := must(d.NewTable(make([]float32, benchWidth), 1, benchWidth))
	dst := benchTensor(b, d, 1, benchWidth)
	for b.Loop() {
		d.Embed(dst, tokens, []int32{77}, table, []int32{0})
	}
}
