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
		for _, dh := range []int{1, 8, 64, 80, 128} {
			for _, n := range []int{1, 2, 15, 16, 17, 31, 33, 50, 97} {
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

func TestRelativeAttentionI8(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		var kv PackedKVI8
		var pos PackedPositionsI8
		var work RelativeAttentionI8Work
		for _, dh := range []int{8, 33, 64, 128} {
			for _, n := range []int{1, 2, 12, 13, 31, 33, 50, 97} {
				r := rng(uint64(n))
				q, k, v := guarded(t, normals(r, n*dh)), normals(r, n*dh), normals(r, n*dh)
				u, w := guarded(t, normals(r, dh)), guarded(t, normals(r, dh))
				length := n + 5
				positions := normals(r, (2*length-1)*dh)
				kv.Pack(k, dh, v, dh, n, dh)
				pos.Pack(positions, dh, 2*length-1, dh)
				scale := float32(1 / math.Sqrt(float64(dh)))
				got, alone := guarded(t, make([]float32, n*dh)), make([]float32, dh)
				RelativeAttentionI8(got, dh, q, dh, n, &kv, &pos, length-1, u, w, scale, &work)
				var want []float64
				for i := range n {
					want = append(want, relative(q[i*dh:], k, v, positions[(length-1-i)*dh:], u, w, n, dh, float64(scale))...)
					RelativeAttentionI8(alone, dh, q[i*dh:], dh, 1, &kv, &pos, length-1-i, u, w, scale, &work)
					sameBits(t, fmt.Sprintf("width %d, %d keys, row %d alone", dh, n, i), alone, got[i*dh:][:dh])
				}
				// Queries, keys, values and positions are each good to about a hundredth of their standard deviation.
				if e := relativeError(got, want); !(e <= 0.05) {
					t.Errorf("width %d, %d keys: relative error %.4f", dh, n, e)
				}
				// Positions that nobody meets change nothing.
				pos.Pack(positions[5*dh:], dh, 2*n-1, dh)
				again := make([]float32, n*dh)
				RelativeAttentionI8(again, dh, q, dh, n, &kv, &pos, n-1, u, w, scale, &work)
				sameBits(t, fmt.Sprintf("width %d, %d keys, fewer positions", dh, n), again, got)
			}
		}
	})
}

func TestRelativeAttentionPanics(t *testing.T) {
	const n, dh = 4, 8
	x, scratch := make([]float32, n*dh), make([]float32, RelativeAttentionScratch(n, n, dh))
	var kv PackedKV
	var pos PackedPositions
	var kvI8 PackedKVI8
	var posI8 PackedPositionsI8
	kv.Pack(x, dh, x, dh, n, dh)
	kvI8.Pack(x, dh, x, dh, n, dh)
	pos.Pack(make([]float32, (2*n-1)*dh), dh, 2*n-1, dh)
	posI8.Pack(make([]float32, (2*n-1)*dh), dh, 2*n-1, dh)
	for name, f := range map[string]func(){
		"scratch":          func() { RelativeAttention(x, dh, x, dh, n, &kv, &pos, n-1, x[:dh], x[:dh], 1, scratch[1:]) },
		"positions before": func() { RelativeAttention(x, dh, x, dh, n, &kv, &pos, n-2, x[:dh], x[:dh], 1, scratch) },
		"positions behind": func() { RelativeAttention(x, dh, x, dh, n, &kv, &pos, n, x[:dh], x[:dh], 1, scratch) },
		"bias":             func() { RelativeAttention(x, dh, x, dh, n, &kv, &pos, n-1, x[:1], x[:dh], 1, scratch) },
		"pack":             func() { pos.Pack(x, dh, n+1, dh) },
		"pack bytes":       func() { new(PackedPositionsI8).Pack(x, dh, n+1, dh) },
		"bytes, dst": func() {
			RelativeAttentionI8(x[1:], dh, x, dh, n, &kvI8, &posI8, n-1, x[:dh], x[:dh], 1, new(RelativeAttentionI8Work))
		},
		"bytes, positions": func() {
			RelativeAttentionI8(x, dh, x, dh, n, &kvI8, &posI8, n, x[:dh], x[:dh], 1, new(RelativeAttentionI8Work))
		},
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
