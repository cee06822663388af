package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// relativeAttend is one item's RelativeAttention, by the definition.
func relativeAttend(qkv, pos, bias matrix, dim, heads int) matrix {
	dh, out, length := dim/heads, newMatrix(len(qkv), dim), (len(pos)+1)/2
	for off := 0; off < dim; off += dh {
		for i := range qkv {
			scores := make([]float64, len(qkv))
			for j := range scores {
				for c := off; c < off+dh; c++ {
					scores[j] += (qkv[i][c] + bias[0][c]) * qkv[j][dim+c]
					scores[j] += (qkv[i][c] + bias[1][c]) * pos[length-1-i+j][c]
				}
				scores[j] /= math.Sqrt(float64(dh))
			}
			for j, p := range softmax(scores) {
				for c := off; c < off+dh; c++ {
					out[i][c] += p * qkv[j][2*dim+c]
				}
			}
		}
	}
	return out
}

func TestRelativeAttention(t *testing.T) {
	onDevices(t, func(t *testing.T, d *Device) {
		for _, c := range []struct {
			lens              []int
			dim, heads, spare int
		}{{[]int{1}, 4, 1, 0}, {[]int{3, 0, 50, 17}, 24, 3, 0}, {[]int{130, 60}, 64, 2, 7}, {nil, 8, 2, 1}} {
			t.Run(fmt.Sprint(c), func(t *testing.T) {
				r := rng()
				longest := 1
				for _, l := range c.lens {
					longest = max(longest, l)
				}
				pos, bias := random(r, 2*(longest+c.spare)-1, c.dim), random(r, 2, c.dim)
				var qkv, want matrix
				for _, l := range c.lens {
					item := random(r, l, 3*c.dim)
					qkv, want = append(qkv, item...), append(want, relativeAttend(item, pos, bias, c.dim, c.heads)...)
				}
				x, dst := put(t, d, qkv, 3*c.dim), put(t, d, newMatrix(len(want), c.dim), c.dim)
				tp, tb := put(t, d, pos, c.dim), put(t, d, bias, c.dim)
				d.RelativeAttention(dst, x, c.lens, c.heads, tp, tb)
				got := get(t, d, dst)
				want.close(t, got)
				at := 0
				for _, l := range c.lens {
					skip := longest + c.spare - max(1, l) // the least positions that suffice give the same
					d.RelativeAttention(dst.Slice(at, at+l), x.Slice(at, at+l), []int{l}, c.heads, tp.Slice(skip, len(pos)-skip), tb)
					at += l
				}
				if !slices.Equal(get(t, d, dst), got) {
					t.Error("items alone differ from the items in a batch")
				}
			})
		}
	})
}

func TestRelativeAttentionRefuses(t *testing.T) {
	d := newDevice(t, 1)
	x, dst, bias := put(t, d, newMatrix(5, 12), 12), put(t, d, newMatrix(5, 4), 4), put(t, d, newMatrix(2, 4), 4)
	for name, positions := range map[string]int{"too few positions": 7, "an even number of positions": 10} {
		pos := put(t, d, newMatrix(positions, 4), 4)
		if !panics(func() { d.RelativeAttention(dst, x, []int{5}, 2, pos, bias) }) {
			t.Errorf("%s: no panic", name)
		}
	}
}

func BenchmarkRelativeAttention(b *testing.B) {
	// The shape of parakeet-tdt-0.6b: 80 ms a row, for windows of 30 s and 300 s.
	const dim, heads = 1024, 8
	for _, rows := range []int{375, 3750} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			d := newDevice(b, 0)
			qkv, dst := benchTensor(b, d, rows, 3*dim), benchTensor(b, d, rows, dim)
			pos, bias := benchTensor(b, d, 2*rows-1, dim), benchTensor(b, d, 2, dim)
			for b.Loop() {
				d.RelativeAttention(dst, qkv, []int{rows}, heads, pos, bias)
			}
			b.ReportMetric(6*float64(rows*rows*dim)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
