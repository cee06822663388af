package cpu

import (
	"fmt"
	"slices"
	"testing"

	"hark/engine"
)

// image is what a layer of the naive reference makes of an item: [time][frequency][channel].
type image [][][]float64

// conv2d is PyTorch's conv2d of 3 x 3, stride 2 and padding 1, with w [out][in of the group][3][3].
func conv2d(x image, w, bias []float32, out int, grouped bool) image {
	freqs, in := len(x[0]), len(x[0][0])
	y := make(image, ceilDiv(len(x), 2))
	for t := range y {
		y[t] = make([][]float64, ceilDiv(freqs, 2))
		for f := range y[t] {
			y[t][f] = make([]float64, out)
			for o := range out {
				y[t][f][o] = float64(bias[o])
				for c := range in {
					if grouped && c != o {
						continue
					}
					for i := range 9 {
						p, q, at := 2*t-1+i/3, 2*f-1+i%3, (o*in+c)*9+i
						if grouped {
							at = o*9 + i
						}
						if p >= 0 && p < len(x) && q >= 0 && q < freqs {
							y[t][f][o] += x[p][q][c] * float64(w[at])
						}
					}
				}
			}
		}
	}
	return y
}

// subsampled is Subsample for one item, by the definition.
func subsampled(item matrix, w engine.SubsamplingWeights) matrix {
	if len(item) == 0 {
		return nil
	}
	x := make(image, len(item))
	for t, row := range item {
		for _, v := range row {
			x[t] = append(x[t], []float64{v})
		}
	}
	x = conv2d(x, w.First, w.FirstBias, w.Channels, false)
	relu(x)
	for _, s := range w.Stages {
		x = conv2d(x, s.Depthwise, s.DepthwiseBias, w.Channels, true)
		for t := range x {
			for f := range x[t] {
				row := make([]float64, w.Channels)
				for o := range row {
					row[o] = float64(s.PointwiseBias[o])
					for c, v := range x[t][f] {
						row[o] += v * float64(s.Pointwise[o*w.Channels+c])
					}
				}
				x[t][f] = row
			}
		}
		relu(x)
	}
	out := make(matrix, len(x))
	for t := range x {
		out[t] = slices.Concat(x[t]...)
	}
	return out
}

func relu(x image) {
	for t := range x {
		for f := range x[t] {
			for c, v := range x[t][f] {
				x[t][f][c] = max(0, v)
			}
		}
	}
}

func subsamplingWeights(mels, channels, stages int) engine.SubsamplingWeights {
	r := rng()
	w := engine.SubsamplingWeights{Mels: mels, Channels: channels, First: random(r, channels, 9).flat(), FirstBias: random(r, 1, channels).flat()}
	for range stages {
		w.Stages = append(w.Stages, engine.SubsamplingStage{
			Depthwise: scaled(random(r, channels, 9), 0.3).flat(), DepthwiseBias: random(r, 1, channels).flat(),
			Pointwise: scaled(random(r, channels, channels), 0.3).flat(), PointwiseBias: random(r, 1, channels).flat(),
		})
	}
	return w
}

// scaled multiplies m by s, rounded so that float32 holds the result.
func scaled(m matrix, s float64) matrix {
	for _, row := range m {
		for i := range row {
			row[i] = float64(float32(row[i] * s))
		}
	}
	return m
}

func TestSubsample(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		for _, c := range []struct {
			lens                   []int
			mels, channels, stages int
		}{
			{[]int{1}, 16, 3, 2},
			{[]int{8, 0, 9, 100, 7, 1, 65}, 16, 5, 2},
			{[]int{33, 2}, 7, 4, 2},
			{[]int{33, 2, 40}, 80, 8, 0},
			{[]int{50, 17, 31, 16}, 20, 6, 3},
			{nil, 8, 2, 1},
		} {
			t.Run(fmt.Sprint(c), func(t *testing.T) {
				r := rng()
				w := subsamplingWeights(c.mels, c.channels, c.stages)
				s := must(d.NewSubsampling(w))
				var x, want matrix
				var items []matrix
				for _, l := range c.lens {
					items = append(items, random(r, l, c.mels))
					x, want = append(x, items[len(items)-1]...), append(want, subsampled(items[len(items)-1], w)...)
				}
				if len(want) > 0 && s.Width() != len(want[0]) || s.Factor() != 2<<c.stages {
					t.Fatalf("factor %d, width %d", s.Factor(), s.Width())
				}
				dst := put(t, d, newMatrix(len(want), s.Width()), s.Width())
				d.Subsample(dst, put(t, d, x, c.mels), c.lens, s)
				got := get(t, d, dst)
				want.close(t, got)
				for i, l := range c.lens {
					n := ceilDiv(l, s.Factor())
					alone := put(t, d, newMatrix(n, s.Width()), s.Width())
					d.Subsample(alone, put(t, d, items[i], c.mels), []int{l}, s)
					if !slices.Equal(get(t, d, alone), got[:n*s.Width()]) {
						t.Errorf("item %d alone differs from the item in a batch", i)
					}
					got = got[n*s.Width():]
				}
			})
		}
	})
}

func TestSubsampleRefuses(t *testing.T) {
	d := newDevice(t, 1)
	w := subsamplingWeights(8, 4, 1)
	for name, spoil := range map[string]func(w *engine.SubsamplingWeights){
		"no mels":         func(w *engine.SubsamplingWeights) { w.Mels = 0 },
		"first too short": func(w *engine.SubsamplingWeights) { w.First = w.First[1:] },
		"stage too short": func(w *engine.SubsamplingWeights) {
			w.Stages = slices.Clone(w.Stages)
			w.Stages[0].Pointwise = w.Stages[0].Pointwise[1:]
		},
	} {
		bad := w
		spoil(&bad)
		if _, err := d.NewSubsampling(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s := must(d.NewSubsampling(w))
	x, dst := put(t, d, newMatrix(9, 8), 8), put(t, d, newMatrix(2, s.Width()), s.Width())
	if !panics(func() { d.Subsample(dst, x, []int{9}, s) }) {
		t.Error("dst too short: no panic")
	}
}

// BenchmarkSubsample has the shape of parakeet-tdt-0.6b and a window of 30 s.
func BenchmarkSubsample(b *testing.B) {
	d := newDevice(b, 0)
	s := must(d.NewSubsampling(subsamplingWeights(128, 256, 2)))
	x, dst := benchTensor(b, d, 3000, 128), benchTensor(b, d, 375, s.Width())
	for b.Loop() {
		d.Subsample(dst, x, []int{3000}, s)
	}
}
