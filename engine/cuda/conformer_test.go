//go:build linux && amd64 && !nocuda

package cuda

import (
	"fmt"
	"testing"

	"hark/engine"
)

func TestGatedConv(t *testing.T) {
	onBoth(t, func(b *bench) {
		for i, c := range []struct {
			lens             []int
			channels, kernel int
		}{{[]int{1}, 3, 9}, {[]int{8, 0, 70, 3}, 20, 9}, {[]int{33, 64}, 130, 5}, {[]int{40}, 64, 31}, {nil, 4, 3}} {
			for j, l := range layouts {
				w, bias := b.random(c.channels*c.kernel), b.random(c.channels)
				if i == 0 {
					bias = nil
				}
				rows, last := total(c.lens), 0
				if len(c.lens) > 0 {
					last = c.lens[len(c.lens)-1]
				}
				x := b.put(b.random(rows*2*c.channels), rows, 2*c.channels, l)
				b.inBothOrders(func(order string) {
					dst := b.blank(rows, c.channels, layouts[(j+1)%len(layouts)])
					b.do(func(d engine.Device, on func(pair) engine.Tensor) {
						d.GatedConv(on(dst), on(x), c.lens, must(d.NewDepthwise(w, bias, c.channels, c.kernel)), engine.SiLU)
					})
					what := fmt.Sprint(c, l, order)
					b.same(what, dst, 16)
					b.alone(what, dst.gpu, last, func(dst engine.Tensor) {
						b.gpu.GatedConv(dst, x.gpu.Slice(rows-last, rows), []int{last}, must(b.gpu.NewDepthwise(w, bias, c.channels, c.kernel)), engine.SiLU)
					})
				})
			}
		}
		for _, c := range [][3]int{{4, 2, 8}, {0, 3, 0}, {4, 3, 11}} {
			if _, err := b.gpu.NewDepthwise(make([]float32, c[2]), nil, c[0], c[1]); err == nil {
				t.Errorf("%v: no error", c)
			}
		}
	})
}

func TestLSTM(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, c := range []struct{ in, hidden, sequences int }{{1, 1, 3}, {9, 20, 5}, {64, 40, 40}, {128, 128, 20}} {
			wih, whh, bias := b.small(4*c.hidden*c.in), b.small(4*c.hidden*c.hidden), b.random(4*c.hidden)
			here, there := must(b.gpu.NewLSTM(wih, whh, bias, c.in, c.hidden)), must(b.cpu.NewLSTM(wih, whh, bias, c.in, c.hidden))
			if in, hidden := here.Shape(); in != c.in || hidden != c.hidden {
				t.Errorf("%d inputs, %d states", in, hidden)
			}
			for j, l := range layouts {
				b.inBothOrders(func(order string) {
					what := fmt.Sprint(c, l, order)
					h := b.put(b.random(c.sequences*c.hidden), c.sequences, c.hidden, l)
					cell := b.put(b.random(c.sequences*c.hidden), c.sequences, c.hidden, layout{3, 1, true})
					for _, m := range []int{c.sequences - 1, 1, 0} {
						var rows []int32
						for i := range m {
							rows = append(rows, int32((i*3+1)%c.sequences))
						}
						if c.sequences%3 == 0 {
							rows = rows[:min(len(rows), 1)]
						}
						m = len(rows)
						x, dst := b.put(b.random(m*c.in), m, c.in, layouts[(j+1)%len(layouts)]), b.blank(m, c.hidden, layouts[(j+2)%len(layouts)])
						b.gpu.LSTM(dst.gpu, x.gpu, h.gpu, cell.gpu, here, rows)
						b.cpu.LSTM(dst.cpu, x.cpu, h.cpu, cell.cpu, there, rows)
						b.near(what, dst, 2)
						b.near(what+" h", h, 2)
						b.near(what+" c", cell, 2)
					}
				})
			}
		}
		if _, err := b.gpu.NewLSTM(make([]float32, 3), make([]float32, 4), make([]float32, 4), 1, 1); err == nil {
			t.Error("too few weights: no error")
		}
	})
}

// small is numbers so small that sums of many keep to the slopes of sigmoids.
func (b *bench) small(n int) []float32 {
	v := b.random(n)
	for i := range v {
		v[i] /= 8
	}
	return b.rounded(v)
}

// TestLSTMInPlace has the output take the input's place, and a sequence's result be
// the same to the bit alone and among others.
func TestLSTMInPlace(t *testing.T) {
	onBoth(t, func(b *bench) {
		const n, sequences = 40, 21
		plain := layout{8, 0, false}
		wih, whh, bias := b.small(4*n*n), b.small(4*n*n), b.random(4*n)
		w, there := must(b.gpu.NewLSTM(wih, whh, bias, n, n)), must(b.cpu.NewLSTM(wih, whh, bias, n, n))
		values, state, cells := b.random(sequences*n), b.random(sequences*n), b.random(sequences*n)
		x, h, c := b.put(values, sequences, n, plain), b.put(state, sequences, n, plain), b.put(cells, sequences, n, layout{4, 4, true})
		rows := make([]int32, sequences)
		for i := range rows {
			rows[i] = int32(sequences - 1 - i)
		}
		b.gpu.LSTM(x.gpu, x.gpu, h.gpu, c.gpu, w, rows)
		b.cpu.LSTM(x.cpu, x.cpu, h.cpu, c.cpu, there, rows)
		b.near("in place", x, 2)
		last := b.put(values[(sequences-1)*n:], 1, n, plain)
		h1, c1 := b.put(state[:n], 1, n, plain), b.put(cells[:n], 1, n, layout{4, 4, true})
		b.alone("in place", x.gpu, 1, func(dst engine.Tensor) { b.gpu.LSTM(dst, last.gpu, h1.gpu, c1.gpu, w, []int32{0}) })
	})
}

func TestSubsample(t *testing.T) {
	onBoth(t, func(b *bench) {
		for _, c := range []struct {
			lens                   []int
			mels, channels, stages int
		}{
			{[]int{1}, 16, 3, 2},
			{[]int{8, 0, 9, 100, 7, 1, 65}, 16, 5, 2},
			{[]int{33, 2}, 7, 8, 2},
			{[]int{33, 2, 40}, 80, 8, 0},
			{[]int{50, 17, 31, 16}, 20, 40, 3},
			{nil, 8, 2, 1},
		} {
			w := b.subsamplingWeights(c.mels, c.channels, c.stages)
			here, there := must(b.gpu.NewSubsampling(w)), must(b.cpu.NewSubsampling(w))
			if here.Width() != there.Width() || here.Factor() != there.Factor() {
				t.Fatalf("%d wide, factor %d", here.Width(), here.Factor())
			}
			out, last := 0, 0
			for _, l := range c.lens {
				last = ceilDiv(l, here.Factor())
				out += last
			}
			rows := total(c.lens)
			for j, l := range layouts {
				x := b.put(b.random(rows*c.mels), rows, c.mels, l)
				b.inBothOrders(func(order string) {
					dst := b.blank(out, here.Width(), layouts[(j+1)%len(layouts)])
					b.gpu.Subsample(dst.gpu, x.gpu, c.lens, here)
					b.cpu.Subsample(dst.cpu, x.cpu, c.lens, there)
					what := fmt.Sprint(c, l, order)
					b.near(what, dst, 16) // what lies between layers is rounded, and they are sums of tens of numbers
					if len(c.lens) > 0 {
						n := c.lens[len(c.lens)-1]
						b.alone(what, dst.gpu, last, func(dst engine.Tensor) { b.gpu.Subsample(dst, x.gpu.Slice(rows-n, rows), []int{n}, here) })
					}
				})
			}
		}
	})
}

// subsamplingWeights makes weights of which outputs stay around 1.
func (b *bench) subsamplingWeights(mels, channels, stages int) engine.SubsamplingWeights {
	scaled := func(n, terms int) []float32 {
		v := b.random(n)
		for i := range v {
			v[i] /= float32(terms)
		}
		return b.rounded(v)
	}
	w := engine.SubsamplingWeights{Mels: mels, Channels: channels, First: scaled(channels*9, 3), FirstBias: b.random(channels)}
	for range stages {
		w.Stages = append(w.Stages, engine.SubsamplingStage{
			Depthwise: scaled(channels*9, 3), DepthwiseBias: b.random(channels),
			Pointwise: scaled(channels*channels, 4), PointwiseBias: b.random(channels),
		})
	}
	return w
}

// TestSubsampleInParts cuts items where the rows made at once end.
func TestSubsampleInParts(t *testing.T) {
	groups := cutItems([]int{100, 0, 9, 64}, []int{13, 0, 2, 8}, 10)
	want := "[[{0 100 0 10}] [{0 100 10 13} {100 9 0 2} {109 64 0 5}] [{109 64 5 8}]]"
	if got := fmt.Sprint(groups); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	onBoth(t, func(b *bench) {
		w := b.subsamplingWeights(4, 2, 2)
		here, there := must(b.gpu.NewSubsampling(w)), must(b.cpu.NewSubsampling(w))
		const n = 8*subsampleRows + 21
		out := ceilDiv(n, 8)
		x, dst := b.put(b.random(n*4), n, 4, layout{8, 0, false}), b.blank(out, here.Width(), layout{8, 0, false})
		b.gpu.Subsample(dst.gpu, x.gpu, []int{n}, here)
		b.cpu.Subsample(dst.cpu, x.cpu, []int{n}, there)
		b.near("in parts", dst, 16)
		bad := w
		bad.First = bad.First[1:]
		if _, err := b.gpu.NewSubsampling(bad); err == nil {
			t.Error("too few weights: no error")
		}
	})
}
