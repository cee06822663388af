package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// attentionRef computes one query in float64.
func attentionRef(q, k []float32, ldk int, v []float32, ldv, t, dh int, scale float64) (out, probs []float64) {
	out, probs = make([]float64, dh), make([]float64, t)
	m, sum := math.Inf(-1), 0.0
	for i := range t {
		for c := range dh {
			probs[i] += scale * float64(q[c]) * float64(k[i*ldk+c])
		}
		m = max(m, probs[i])
	}
	for i := range probs {
		probs[i] = math.Exp(probs[i] - m)
		sum += probs[i]
	}
	for i := range probs {
		probs[i] /= sum
		for c := range dh {
			out[c] += probs[i] * float64(v[i*ldv+c])
		}
	}
	return out, probs
}

func TestAttention(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		var kv PackedKV
		for _, c := range []struct{ rows, t, dh int }{
			{1, 1, 1}, {2, 3, 7}, {3, 16, 8}, {5, 17, 16}, {6, 31, 24}, {7, 32, 64}, {13, 33, 64}, {24, 100, 64}, {25, 257, 80}, {50, 300, 128},
			{9, 1500, 64}, {3, 3000, 33}, {4, 512, 96}, {2, 0, 64},
		} {
			r := rng(uint64(c.t))
			ldk, ldv, ldq, ldd, ldp := c.dh+2, c.dh+5, c.dh+1, c.dh+3, c.t+4
			k, v := guarded(t, normals(r, max(0, (c.t-1)*ldk+c.dh))), guarded(t, normals(r, max(0, (c.t-1)*ldv+c.dh)))
			q := guarded(t, normals(r, (c.rows-1)*ldq+c.dh))
			kv.Pack(k, ldk, v, ldv, c.t, c.dh)
			if kv.Len() != c.t {
				t.Fatalf("Len() = %d, want %d", kv.Len(), c.t)
			}
			scale := float32(1 / math.Sqrt(float64(c.dh)))
			scratch := guarded(t, slices.Repeat([]float32{nan}, AttentionScratch(c.rows, c.t)))
			dst := guarded(t, make([]float32, (c.rows-1)*ldd+c.dh))
			probs := guarded(t, make([]float32, (c.rows-1)*ldp+c.t))
			Attention(dst, ldd, q, ldq, c.rows, &kv, scale, scratch, probs, ldp)
			again := make([]float32, len(dst))
			Attention(again, ldd, q, ldq, c.rows, &kv, scale, scratch, nil, 0)
			sameBits(t, "without probs", again, dst)
			for i := range c.rows {
				what := fmt.Sprintf("%d rows, t %d, dh %d: row %d", c.rows, c.t, c.dh, i)
				want, p := attentionRef(q[i*ldq:], k, ldk, v, ldv, c.t, c.dh, float64(scale))
				near(t, what, dst[i*ldd:][:c.dh], want, 1e-6, 1e-5)
				near(t, what+" probs", probs[i*ldp:][:c.t], p, 1e-8, 1e-5)
				row, rowProbs := guarded(t, q[i*ldq:][:c.dh]), guarded(t, make([]float32, c.t))
				AttentionRow(row, row, k, ldk, v, ldv, c.t, c.dh, scale, guarded(t, make([]float32, c.t)), rowProbs)
				near(t, what+" AttentionRow", row, want, 1e-6, 1e-5)
				near(t, what+" AttentionRow probs", rowProbs, p, 1e-8, 1e-5)
			}
		}
	})
}

// TestAttentionBatch holds Attention to the promise that a row's bits depend on its query alone.
func TestAttentionBatch(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, c := range []struct{ t, dh int }{{70, 64}, {700, 64}, {50, 40}} {
			const rows = 60
			r := rng(uint64(c.t))
			var kv PackedKV
			kv.Pack(normals(r, c.t*c.dh), c.dh, normals(r, c.t*c.dh), c.dh, c.t, c.dh)
			q, want := normals(r, rows*c.dh), make([]float32, rows*c.dh)
			scratch := make([]float32, AttentionScratch(rows, c.t))
			Attention(want, c.dh, q, c.dh, rows, &kv, 0.125, scratch, nil, 0)
			for batch := 1; batch <= 40; batch++ {
				got := slices.Clone(q)
				for i := 0; i < rows; i += batch {
					b := min(batch, rows-i)
					Attention(got[i*c.dh:], c.dh, got[i*c.dh:], c.dh, b, &kv, 0.125, scratch, nil, 0)
				}
				sameBits(t, fmt.Sprintf("t %d dh %d in batches of %d", c.t, c.dh, batch), got, want)
			}
		}
	})
}

func TestAttentionHuge(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		const n, dh = 40, 16
		k, v := make([]float32, n*dh), normals(rng(1), n*dh)
		for i := range k {
			k[i] = 1e15 * float32(i/dh%3)
		}
		q := slices.Repeat([]float32{1e15}, dh)
		var kv PackedKV
		kv.Pack(k, dh, v, dh, n, dh)
		want, _ := attentionRef(q, k, dh, v, dh, n, dh, 0.25)
		got := make([]float32, dh)
		Attention(got, dh, q, dh, 1, &kv, 0.25, make([]float32, AttentionScratch(1, n)), nil, 0)
		near(t, "huge", got, want, 1e-6, 1e-5)
		AttentionRow(got, q, k, dh, v, dh, n, dh, 0.25, make([]float32, n), nil)
		near(t, "huge row", got, want, 1e-6, 1e-5)
	})
}

// TestPackedKVReuse packs a short head after a long one: the memory stays, and nothing of the long one is left.
func TestPackedKVReuse(t *testing.T) {
	r := rng(1)
	var kv, fresh PackedKV
	kv.Pack(normals(r, 100*64), 64, normals(r, 100*64), 64, 100, 64)
	size := kv.Bytes()
	k, v, q := normals(r, 37*40), normals(r, 37*40), normals(r, 40)
	if n := testing.AllocsPerRun(3, func() { kv.Pack(k, 40, v, 40, 37, 40) }); n != 0 || kv.Bytes() != size {
		t.Errorf("packing a smaller head: %v allocations, %d bytes after %d", n, kv.Bytes(), size)
	}
	fresh.Pack(k, 40, v, 40, 37, 40)
	sameBits(t, "keys", kv.k, fresh.k)
	sameBits(t, "values", kv.v, fresh.v)
	got, want := make([]float32, 40), make([]float32, 40)
	scratch := make([]float32, AttentionScratch(1, 37))
	Attention(got, 40, q, 40, 1, &kv, 1, scratch, nil, 0)
	Attention(want, 40, q, 40, 1, &fresh, 1, scratch, nil, 0)
	sameBits(t, "output", got, want)
}

func BenchmarkAttention(b *testing.B) {
	for _, tier := range tiers[1:] {
		for _, rows := range []int{1, 8, 1500} {
			b.Run(fmt.Sprintf("%s/%dx1500x64", tier, rows), func(b *testing.B) {
				defer setTier(tierName)
				useTier(b, tier)
				const n, dh = 1500, 64
				r := rng(1)
				var kv PackedKV
				kv.Pack(normals(r, n*dh), dh, normals(r, n*dh), dh, n, dh)
				q, dst := normals(r, rows*dh), make([]float32, rows*dh)
				scratch := alignedFloats(AttentionScratch(rows, n))
				for b.Loop() {
					Attention(dst, dh, q, dh, rows, &kv, 0.125, scratch, nil, 0)
				}
				reportFLOPS(b, 4*rows*n*dh)
			})
		}
	}
}

func BenchmarkPackedKV(b *testing.B) {
	for _, tier := range tiers {
		b.Run(tier+"/1500x64", func(b *testing.B) {
			defer setTier(tierName)
			useTier(b, tier)
			const n, dh, ld = 1500, 64, 1536
			x := normals(rng(1), n*ld)
			var kv PackedKV
			b.SetBytes(2 * 4 * n * dh)
			for b.Loop() {
				kv.Pack(x[512:], ld, x[1024:], ld, n, dh)
			}
		})
	}
}

func BenchmarkAttentionRow(b *testing.B) {
	for _, tier := range tiers {
		b.Run(tier+"/448x64", func(b *testing.B) {
			defer setTier(tierName)
			useTier(b, tier)
			const n, dh = 448, 64
			r := rng(1)
			k, v, q := normals(r, n*dh), normals(r, n*dh), normals(r, dh)
			dst, scratch := make([]float32, dh), make([]float32, n)
			for b.Loop() {
				AttentionRow(dst, q, k, dh, v, dh, n, dh, 0.125, scratch, nil)
			}
			reportFLOPS(b, 4*n*dh)
		})
	}
}
