package kernels

import (
	"fmt"
	"testing"
)

func TestDepthwise(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range append(lengths, maxElems/8+1) {
			for _, taps := range []int{0, 1, 3, 9} {
				r := rng(uint64(n))
				ldx, ldw := n+3, n+1
				size := func(ld int) int { return max(0, (taps-1)*ld+n) }
				x, w := guarded(t, normals(r, size(ldx))), guarded(t, normals(r, size(ldw)))
				dst := guarded(t, normals(r, n))
				want := wide(dst)
				for c := range want {
					for i := range taps {
						want[c] += float64(x[i*ldx+c]) * float64(w[i*ldw+c])
					}
				}
				Depthwise(dst, x, ldx, w, ldw, taps)
				near(t, fmt.Sprintf("%d channels, %d taps", n, taps), dst, want, 2e-6, 2e-7)
			}
		}
	})
}

func TestAddWeighted(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range append(lengths, maxElems/8+1) {
			for _, rows := range []int{0, 1, 9} {
				r := rng(uint64(n))
				ldx := n + 3
				x, p := guarded(t, normals(r, max(0, (rows-1)*ldx+n))), guarded(t, normals(r, rows))
				dst := guarded(t, normals(r, n))
				want := wide(dst)
				for c := range want {
					for i, w := range p {
						want[c] += float64(w) * float64(x[i*ldx+c])
					}
				}
				AddWeighted(dst, p, x, ldx)
				near(t, fmt.Sprintf("%d columns, %d rows", n, rows), dst, want, 2e-6, 2e-7)
			}
		}
	})
}

// TestDepthwisePosition holds a channel to the same bits wherever it stands.
func TestDepthwisePosition(t *testing.T) {
	const n, taps = 200, 9
	eachTier(t, func(t *testing.T) {
		r := rng(1)
		x, w, start := normals(r, n*taps), normals(r, n*taps), normals(r, n)
		want := append([]float32(nil), start...)
		Depthwise(want, x, n, w, n, taps)
		for cut := range n {
			got := append([]float32(nil), start...)
			Depthwise(got[:cut], x, n, w, n, taps)
			Depthwise(got[cut:], x[cut:], n, w[cut:], n, taps)
			sameBits(t, fmt.Sprint("cut at ", cut), got, want)
		}
	})
}

func TestDepthwisePanics(t *testing.T) {
	x := make([]float32, 12)
	for name, f := range map[string]func(){
		"x too short":       func() { Depthwise(x[:4], x[:11], 4, x, 4, 3) },
		"weights too short": func() { Depthwise(x[:4], x, 4, x[:11], 4, 3) },
		"rows overlap":      func() { Depthwise(x[:4], x, 3, x, 4, 3) },
		"sum of too little": func() { AddWeighted(x[:4], x[:3], x[:11], 4) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func BenchmarkDepthwise(b *testing.B) {
	const n, taps = 1024, 9
	for _, tier := range tiers {
		b.Run(tier, func(b *testing.B) {
			defer setTier(tierName)
			useTier(b, tier)
			x, w, dst := normals(rng(1), n*taps), normals(rng(2), n*taps), make([]float32, n)
			b.SetBytes(4 * n)
			for b.Loop() {
				Depthwise(dst, x, n, w, n, taps)
			}
		})
	}
}
