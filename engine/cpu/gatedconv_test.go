package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"hark/engine"
)

// gatedConv is GatedConv for one item with a SiLU, by the definition; w is [channels][kernel].
func gatedConv(x, w matrix, bias []float64) matrix {
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	channels, kernel := len(w), len(w[0])
	out := newMatrix(len(x), channels)
	for t := range x {
		for c := range channels {
			s := bias[c]
			for k := range kernel {
				if p := t + k - kernel/2; p >= 0 && p < len(x) {
					s += w[c][k] * x[p][c] * sigmoid(x[p][channels+c])
				}
			}
			out[t][c] = s * sigmoid(s)
		}
	}
	return out
}

func TestGatedConv(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		for _, c := range []struct {
			lens             []int
			channels, kernel int
		}{{[]int{1}, 1, 1}, {[]int{3, 0, 1, 130, 64, 4}, 20, 9}, {[]int{200, 70}, gatedCols + 30, 5}, {nil, 3, 3}} {
			t.Run(fmt.Sprint(c), func(t *testing.T) {
				r := rng()
				w, bias := random(r, c.channels, c.kernel), random(r, 1, c.channels)
				h := must(d.NewDepthwise(w.flat(), bias.flat(), c.channels, c.kernel))
				if h.Channels() != c.channels {
					t.Errorf("%d channels", h.Channels())
				}
				var x, want matrix
				for _, l := range c.lens {
					item := random(r, l, 2*c.channels)
					x, want = append(x, item...), append(want, gatedConv(item, w, bias[0])...)
				}
				tx, dst := put(t, d, x, 2*c.channels), put(t, d, newMatrix(len(x), c.channels), c.channels)
				d.GatedConv(dst, tx, c.lens, h, engine.SiLU)
				got := get(t, d, dst)
				want.close(t, got)
				at := 0
				for _, l := range c.lens {
					d.GatedConv(dst.Slice(at, at+l), tx.Slice(at, at+l), []int{l}, h, engine.SiLU)
					at += l
				}
				if !slices.Equal(get(t, d, dst), got) {
					t.Error("items alone differ from the items in a batch")
				}
			})
		}
	})
}

func TestGatedConvWithoutBias(t *testing.T) {
	d := newDevice(t, 1)
	w, x := random(rng(), 4, 3), random(rng(), 6, 8)
	dst := put(t, d, newMatrix(6, 4), 4)
	d.GatedConv(dst, put(t, d, x, 8), []int{6}, must(d.NewDepthwise(w.flat(), nil, 4, 3)), engine.SiLU)
	gatedConv(x, w, make([]float64, 4)).close(t, get(t, d, dst))
}

func TestGatedConvRefuses(t *testing.T) {
	d := newDevice(t, 1)
	for name, c := range map[string]struct{ weights, channels, kernel int }{
		"even kernel": {8, 2, 4}, "too few weights": {5, 2, 3}, "no channels": {0, 0, 3},
	} {
		if _, err := d.NewDepthwise(make([]float32, c.weights), nil, c.channels, c.kernel); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	c := must(d.NewDepthwise(make([]float32, 6), nil, 2, 3))
	x, dst := put(t, d, newMatrix(5, 4), 4), put(t, d, newMatrix(5, 2), 2)
	if !panics(func() { d.GatedConv(dst, x, []int{4}, c, engine.SiLU) }) {
		t.Error("lens that don't add up: no panic")
	}
}
