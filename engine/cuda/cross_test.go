//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
	"slices"
	"testing"

	"hark/engine"
)

func TestCrossAttention(t *testing.T) {
	onBoth(t, func(b *bench) {
		for i, c := range []struct{ width, heads, length int }{{24, 3, 70}, {20, 4, 20}, {64, 1, 600}, {100, 1, 33}} {
			l := attentionLayouts[i%len(attentionLayouts)]
			b.inBothOrders(func(order string) {
				const layers, slots = 2, 3
				here := must(b.gpu.NewCross(layers, slots, c.length, c.width, c.heads))
				there := must(b.cpu.NewCross(layers, slots, c.length, c.width, c.heads))
				for round, lens := range [][slots]int{{c.length, 1, c.length - 7}, {12, 12, 12}} {
					what := fmt.Sprint(c, l, order, round)
					for layer := range layers {
						for s, n := range lens {
							kv := b.put(b.random(n*2*c.width), n, 2*c.width, l)
							b.gpu.StoreCross(here, layer, s, kv.gpu)
							b.cpu.StoreCross(there, layer, s, kv.cpu)
						}
					}
					for layer := range layers {
						slotOf := []int32{2, 2, 0, 1, 0, 0, 2}
						m := len(slotOf)
						q, dst := b.put(b.random(m*c.width), m, c.width, l), b.blank(m, c.width, l)
						var ask []int
						var probs pair
						if round == 1 {
							ask = []int{c.heads - 1, 0}[:min(2, c.heads)]
							probs = b.blank(len(ask)*m, 12, layout{3, 1, i%2 == 0})
						}
						b.gpu.CrossAttention(dst.gpu, q.gpu, here, layer, slotOf, probs.gpu, ask)
						b.cpu.CrossAttention(dst.cpu, q.cpu, there, layer, slotOf, probs.cpu, ask)
						b.near(what, dst, 1.5)
						if round == 1 {
							b.near(what+" probs", probs, 1)
						}
						got, alone := b.get(dst.gpu), b.blank(m, c.width, l)
						for j := range slotOf {
							b.gpu.CrossAttention(alone.gpu.Slice(j, j+1), q.gpu.Slice(j, j+1), here, layer, slotOf[j:j+1], engine.Tensor{}, nil)
						}
						if !slices.Equal(b.get(alone.gpu), got) {
							t.Errorf("%s: rows alone differ from rows in a batch", what)
						}
						if round == 0 && !panics(func() { b.gpu.CrossAttention(dst.gpu, q.gpu, here, layer, slotOf, alone.gpu, []int{0}) }) {
							t.Error("distributions of different lengths: no panic")
						}
					}
				}
			})
		}
	})
}

// TestCrossAttentionLongPrompt has more rows of one slot than a group, and a slot with nothing in it.
func TestCrossAttentionLongPrompt(t *testing.T) {
	onBoth(t, func(b *bench) {
		const m, length, width = 2*crossGroup + 5, 40, 16
		plain := layout{8, 0, false}
		here, there := must(b.gpu.NewCross(1, 1, length, width, 1)), must(b.cpu.NewCross(1, 1, length, width, 1))
		for _, n := range []int{length, 0} {
			kv := b.put(b.random(n*2*width), n, 2*width, plain)
			b.gpu.StoreCross(here, 0, 0, kv.gpu)
			b.cpu.StoreCross(there, 0, 0, kv.cpu)
			q, dst := b.put(b.random(m*width), m, width, plain), b.blank(m, width, plain)
			var probs pair
			if n > 0 {
				probs = b.blank(m, n, layout{3, 1, true})
			}
			b.gpu.CrossAttention(dst.gpu, q.gpu, here, 0, make([]int32, m), probs.gpu, []int{0})
			b.cpu.CrossAttention(dst.cpu, q.cpu, there, 0, make([]int32, m), probs.cpu, []int{0})
			b.near(fmt.Sprint(n, " positions"), dst, 1.5)
			if n > 0 {
				b.near("probs", probs, 1)
			}
		}
		kv := b.blank(length, 2*width, plain)
		for _, slot := range []int{-1, 1} {
			if !panics(func() { b.gpu.StoreCross(here, 0, slot, kv.gpu) }) {
				t.Errorf("slot %d: no panic", slot)
			}
		}
		for _, shape := range [][5]int{{0, 1, 1, 8, 1}, {1, 0, 1, 8, 1}, {1, 1, 0, 8, 1}, {1, 1, 1, 8, 3}, {1, 1, 1, 130, 1}} {
			if _, err := b.gpu.NewCross(shape[0], shape[1], shape[2], shape[3], shape[4]); err == nil {
				t.Errorf("cross-attention cache of %v: no error", shape)
			}
		}
	})
}

// TestCrossAttentionBytes holds a cache in bytes to the exact one. Keys have columns of very different sizes, as
// models' have: a scale for each column takes no harm of them.
func TestCrossAttentionBytes(t *testing.T) {
	onBoth(t, func(b *bench) {
		b.gpu = newDevice(t, Config{Storage: b.gpu.config.Storage, CrossBytes: true})
		const layers, slots, length, width, heads, m = 2, 2, 300, 48, 2, 5
		plain := layout{8, 0, false}
		here, there := must(b.gpu.NewCross(layers, slots, length, width, heads)), must(b.cpu.NewCross(layers, slots, length, width, heads))
		for layer := range layers {
			for s := range slots {
				values := b.random(length * 2 * width)
				for i := range values {
					switch i % (2 * width) {
					case 3:
						values[i] *= 16
					case width + 5:
						values[i] = 0
					}
				}
				kv := b.put(b.rounded(values), length, 2*width, plain)
				b.gpu.StoreCross(here, layer, s, kv.gpu)
				b.cpu.StoreCross(there, layer, s, kv.cpu)
			}
		}
		for layer := range layers {
			q, dst, probs := b.put(b.random(m*width), m, width, plain), b.blank(m, width, plain), b.blank(m*heads, length, layout{3, 1, true})
			slotOf := []int32{1, 1, 0, 1, 0}
			b.gpu.CrossAttention(dst.gpu, q.gpu, here, layer, slotOf, probs.gpu, []int{0, 1})
			b.cpu.CrossAttention(dst.cpu, q.cpu, there, layer, slotOf, probs.cpu, []int{0, 1})
			if worst := b.worst(dst); worst > 0.03 {
				t.Errorf("layer %d: off by %v", layer, worst)
			}
			if worst := b.worst(probs); worst > 0.03 {
				t.Errorf("layer %d: probabilities are off by %v", layer, worst)
			}
		}
		if _, err := b.gpu.NewCross(1, 1, 8, 80, 1); err == nil {
			t.Error("a head of 80 columns in bytes: no error")
		}
	})
}

// worst is how far what came out is from what the CPU has, at most.
func (b *bench) worst(p pair) float64 {
	b.Helper()
	want := make([]float32, p.cpu.Rows*p.cpu.Cols)
	if err := b.cpu.Download(want, p.cpu); err != nil {
		b.Fatal(err)
	}
	worst := 0.0
	for i, g := range b.get(p.gpu) {
		if d := float64(g) - float64(want[i]); !(max(d, -d) <= worst) {
			worst = max(d, -d)
		}
	}
	return worst
}
