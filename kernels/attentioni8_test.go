package kernels

import (
	"fmt"
	"math"
	"testing"
)

// relativeError is |got - want| / |want| in the Euclidean norm, 0 where want is nothing.
func relativeError(got []float32, want []float64) float64 {
	var d, s float64
	for i, v := range want {
		d += (float64(got[i]) - v) * (float64(got[i]) - v)
		s += v * v
	}
	return math.Sqrt(d / max(s, 1e-30))
}

func TestAttentionI8(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		var kv PackedKVI8
		var work AttentionI8Work
		for _, c := range []struct{ rows, t, dh int }{
			{1, 1, 1}, {2, 3, 7}, {3, 16, 8}, {5, 17, 16}, {6, 31, 24}, {7, 32, 64}, {13, 33, 64}, {24, 100, 64}, {25, 257, 80}, {50, 300, 128},
			{9, 1500, 64}, {3, 5001, 33}, {2, 0, 64},
		} {
			r := rng(uint64(c.t))
			ldk, ldv, ldq, ldd, ldp := c.dh+2, c.dh+5, c.dh+1, c.dh+3, c.t+4
			k, v := guarded(t, normals(r, max(0, (c.t-1)*ldk+c.dh))), guarded(t, normals(r, max(0, (c.t-1)*ldv+c.dh)))
			q := guarded(t, normals(r, (c.rows-1)*ldq+c.dh))
			kv.Pack(k, ldk, v, ldv, c.t, c.dh)
			if kv.Len() != c.t || kv.Bytes() < 2*c.t*c.dh {
				t.Fatalf("%d keys in %d bytes", kv.Len(), kv.Bytes())
			}
			scale := float32(1 / math.Sqrt(float64(c.dh)))
			dst := guarded(t, make([]float32, (c.rows-1)*ldd+c.dh))
			probs := guarded(t, make([]float32, (c.rows-1)*ldp+c.t))
			AttentionI8(dst, ldd, q, ldq, c.rows, &kv, scale, &work, probs, ldp)
			again := make([]float32, len(dst))
			AttentionI8(again, ldd, q, ldq, c.rows, &kv, scale, &work, nil, 0)
			sameBits(t, "without probs", again, dst)
			for i := range c.rows {
				what := fmt.Sprintf("%d rows, t %d, dh %d: row %d", c.rows, c.t, c.dh, i)
				want, p := attentionRef(q[i*ldq:], k, ldk, v, ldv, c.t, c.dh, float64(scale))
				// Keys, values and queries are each good to about a hundredth of their standard deviation, and so are
				// scores; few columns average little.
				if e := relativeError(dst[i*ldd:][:c.dh], want); !(e <= 0.05) {
					t.Errorf("%s: relative error %.4f", what, e)
				}
				if e := relativeError(probs[i*ldp:][:c.t], p); !(e <= 0.05) {
					t.Errorf("%s: relative error of probs %.4f", what, e)
				}
				alone := make([]float32, c.dh)
				AttentionI8(alone, c.dh, q[i*ldq:], ldq, 1, &kv, scale, &work, nil, 0)
				sameBits(t, what+" alone", alone, dst[i*ldd:][:c.dh])
			}
		}
	})
}

func TestAttentionI8Panics(t *testing.T) {
	var kv PackedKVI8
	kv.Pack(make([]float32, 16), 8, make([]float32, 16), 8, 2, 8)
	x := make([]float32, 16)
	for name, f := range map[string]func(){
		"short dst":   func() { AttentionI8(x[:15], 8, x, 8, 2, &kv, 1, new(AttentionI8Work), nil, 0) },
		"short q":     func() { AttentionI8(x, 8, x[:15], 8, 2, &kv, 1, new(AttentionI8Work), nil, 0) },
		"short probs": func() { AttentionI8(x, 8, x, 8, 2, &kv, 1, new(AttentionI8Work), x[:3], 2) },
		"short keys":  func() { kv.Pack(x[:15], 8, x, 8, 2, 8) },
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
