package cpu

import (
	"fmt"
	"slices"
	"testing"

	"hark/engine"
)

// convolve is PyTorch's conv1d with zero padding kernel/2, time-major, with w [out][in*kernel].
func convolve(x, w matrix, bias []float64, kernel, stride int) matrix {
	in := len(w[0]) / kernel
	rows := 0
	if len(x) > 0 {
		rows = (len(x)+2*(kernel/2)-kernel)/stride + 1
	}
	out := newMatrix(rows, len(w))
	for t := range out {
		for o := range w {
			s := bias[o]
			for k := range kernel {
				if p := t*stride + k - kernel/2; p >= 0 && p < len(x) {
					for i := range in {
						s += x[p][i] * w[o][i*kernel+k]
					}
				}
			}
			out[t][o] = gelu(s)
		}
	}
	return out
}

func TestConv(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		for _, c := range []struct {
			lens                    []int
			out, in, kernel, stride int
		}{
			{[]int{1}, 3, 2, 3, 1},
			{[]int{1, 2, 3, 0, 130}, 5, 4, 3, 1},
			{[]int{1, 2, 3, 0, 131, 100}, 7, 3, 3, 2},
			{[]int{9, 4}, 2, 1, 1, 1},
			{[]int{9, 12}, 2, 5, 5, 3},
			{nil, 2, 2, 3, 1},
		} {
			t.Run(fmt.Sprint(c), func(t *testing.T) {
				r := rng()
				w, bias := random(r, c.out, c.in*c.kernel), random(r, 1, c.out)
				h := must(d.NewConv(w.flat(), bias.flat(), c.out, c.in, c.kernel, c.stride))
				if h.OutChannels() != c.out {
					t.Errorf("%d channels", h.OutChannels())
				}
				var x, want matrix
				for _, l := range c.lens {
					item := random(r, l, c.in)
					x, want = append(x, item...), append(want, convolve(item, w, bias[0], c.kernel, c.stride)...)
				}
				tx, dst := put(t, d, x, c.in), put(t, d, newMatrix(len(want), c.out), c.out)
				d.Conv(dst, tx, c.lens, h, engine.GELU)
				got := get(t, d, dst)
				want.close(t, got)
				if len(c.lens) < 2 {
					return
				}
				in := c.lens[0] + c.lens[1]
				out := ceilDiv(c.lens[0], c.stride) + ceilDiv(c.lens[1], c.stride)
				from := ceilDiv(c.lens[0], c.stride)
				alone := put(t, d, newMatrix(out-from, c.out), c.out)
				d.Conv(alone, tx.Slice(c.lens[0], in), c.lens[1:2], h, engine.GELU)
				if !slices.Equal(get(t, d, alone), got[from*c.out:out*c.out]) {
					t.Error("an item alone differs from the item in a batch")
				}
			})
		}
	})
}

func TestConvRefuses(t *testing.T) {
	d := newDevice(t, 1)
	if _, err := d.NewConv(make([]float32, 11), nil, 2, 2, 3, 1); err == nil {
		t.Error("11 weights make no 2 x 2 x 3")
	}
	c := must(d.NewConv(make([]float32, 12), nil, 2, 2, 3, 2))
	x, dst := put(t, d, newMatrix(5, 2), 2), put(t, d, newMatrix(3, 2), 2)
	if !panics(func() { d.Conv(dst, x, []int{4}, c, engine.NoActivation) }) {
		t.Error("lens that don't add up: no panic")
	}
	if !panics(func() { d.Conv(dst.Slice(0, 2), x, []int{5}, c, engine.NoActivation) }) {
		t.Error("dst too short: no panic")
	}
}
