package kernels

import (
	"fmt"
	"testing"
)

// reportFLOPS adds the rate of floating-point operations, a multiply-add being two.
func reportFLOPS(b *testing.B, perOp int) {
	b.ReportMetric(float64(perOp)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// BenchmarkMatMul runs the linear layers of Whisper's encoder on one window, and those of its decoder on a few rows.
func BenchmarkMatMul(b *testing.B) {
	for _, tier := range tiers[1:] {
		for _, c := range []struct{ m, n, k int }{
			{1500, 384, 384}, {1500, 512, 512}, {1500, 2048, 512}, {1500, 512, 2048}, {1500, 1280, 1280}, {1500, 5120, 1280}, {1500, 1280, 5120},
			{3000, 104, 104},
			{1, 51865, 512}, {4, 51865, 512}, {8, 51865, 512}, {12, 51865, 512}, {60, 51865, 512},
			{1, 2048, 512}, {4, 2048, 512}, {8, 2048, 512}, {12, 2048, 512}, {1, 512, 512}, {12, 512, 512},
		} {
			b.Run(fmt.Sprintf("%s/%dx%dx%d", tier, c.m, c.n, c.k), func(b *testing.B) {
				defer setTier(tierName)
				useTier(b, tier)
				r := rng(1)
				w := PackF32(normals(r, c.n*c.k), c.n, c.k)
				x, bias, dst := normals(r, c.m*c.k), normals(r, c.n), make([]float32, c.m*c.n)
				for b.Loop() {
					MatMul(dst, c.n, x, c.k, c.m, w, 0, c.n, Epilogue{Bias: bias})
				}
				reportFLOPS(b, 2*c.m*c.n*c.k)
				if c.m <= 12 {
					b.ReportMetric(float64(w.Bytes())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
				}
			})
		}
	}
}

func BenchmarkPackF32(b *testing.B) {
	for _, tier := range tiers {
		b.Run(tier+"/2048x512", func(b *testing.B) {
			defer setTier(tierName)
			useTier(b, tier)
			w := normals(rng(1), 2048*512)
			b.SetBytes(int64(4 * len(w)))
			for b.Loop() {
				PackF32(w, 2048, 512)
			}
		})
	}
}
