package kernels

import (
	"fmt"
	"math"
	"testing"
)

// relative is RelativeAttention by its definition, for one query, whose positions begin at pos[0].
func relative(q, k, v, pos, u, w []float32, t, dh int, scale float64) []float64 {
	scores, out := make([]float64, t), make([]float64, dh)
	best, sum := math.Inf(-1), 0.0
	for j := range scores {
		for c := range dh {
			scores[j] += (float64(q[c])+float64(u[c]))*float64(k[j*dh+c]) + (float64(q[c])+float64(w[c]))*float64(pos[j*dh+c])
		}
		best = max(best, scores[j])
	}
	for j := range scores {
		scores[j] = math.Exp((scores[j] - best) * scale)
		sum += scores[j]
	}
	for j, p := range scores {
		for c := range out {
			out[c] += p / sum * float64(v[j*dh+c])
		}
	}
	return out
}

func TestRelativeAttention(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, dh := range []int{1, 8, 32, 64, 80, 128} {
			for _, n := range []int{1, 2, 15, 16, 17, 31, 32, 33, 50, 97, 300} {
				r := rng(uint64(n))
				q, k, v := guarded(t, normals(r, n*dh)), normals(r, n*dh), normals(r, n*dh)
				u, w := guarded(t, normals(r, dh)), guarded(t, normals(r, dh))
				length := n + 5 // more positions than this item needs
				positions := normals(r, (2*length-1)*dh)
				var kv PackedKV
				var pos PackedPositions
				kv.Pack(k, dh, v, dh, n, dh)
				pos.Pack(positions, dh, 2*length-1, dh)
				scale := float32(1 / math.Sqrt(float64(dh)))
				scratch := guarded(t, make([]float32, RelativeAttentionScratch(n, n, dh)))
				got := guarded(t, make([]float32, n*dh))
				RelativeAttention(got, dh, q, dh, n, &kv, &pos, length-1, u, w, scale, scratch)
				for i := range n {
					want := relative(q[i*dh:], k, v, positions[(length-1-i)*dh:], u, w, n, dh, float64(scale))
					near(t, fmt.Sprintf("width %d, %d keys, row %d", dh, n, i), got[i*dh:][:dh], want, 1e-5, 1e-5)
				}
				alone := make([]float32, dh)
				for i := range n {
					RelativeAttention(alone, dh, q[i*dh:], dh, 1, &kv, &pos, length-1-i, u, w, scale, scratch)
					sameBits(t, fmt.Sprintf("width %d, %d keys, row %d alone", dh, n, i), alone, got[i*dh:][:dh])
				}
			}
		}
	})
}

func TestRelativeAttentionPanics(t *testing.T) {
	const n, dh = 4, 8
	x, scratch := make([]float32, n*dh), make([]float32, RelativeAttentionScratch(n, n, dh))
	var kv PackedKV
	var pos PackedPositions
	kv.Pack(x, dh, x, dh, n, dh)
	pos.Pack(make([]float32, (2*n-1)*dh), dh, 2*n-1, dh)
	for name, f := range map[string]func(){
		"scratch":          func() { RelativeAttention(x, dh, x, dh, n, &kv, &pos, n-1, x[:dh], x[:dh], 1, scratch[1:]) },
		"positions before": func() { RelativeAttention(x, dh, x, dh, n, &kv, &pos, n-2, x[:dh], x[:dh], 1, scratch) },
		"positions behind": func() { RelativeAttention(x, dh, x, dh, n, &kv, &pos, n, x[:dh], x[:dh], 1, scratch) },
		"bias":             func() { RelativeAttention(x, dh, x, dh, n, &kv, &pos, n-1, x[:1], x[:dh], 1, scratch) },
		"pack":             func() { pos.Pack(x, dh, n+1, dh) },
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
