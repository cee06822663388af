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
			for _, halves := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%dx%dx%d/halves=%v", tier, c.m, c.n, c.k, halves), func(b *testing.B) {
					defer setTier(tierName)
					useTier(b, tier)
					r := rng(1)
					weights := normals(r, c.n*c.k)
					if halves {
						weights = asHalves(weights)
					}
					w := PackF32(weights, c.n, c.k)
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
}

// BenchmarkMatMulI8 quantises the rows too, of which every 37th column is far larger than the rest.
func BenchmarkMatMulI8(b *testing.B) {
	for _, tier := range tiers[1:] {
		for _, fine := range []bool{false, true} {
			for _, c := range []struct{ m, n, k int }{
				{1500, 384, 384}, {1500, 512, 512}, {1500, 2048, 512}, {1500, 512, 2048},
				{1, 51865, 512}, {4, 51865, 512}, {8, 51865, 512}, {16, 51865, 512}, {1, 2048, 512}, {8, 2048, 512}, {1, 512, 512},
			} {
				b.Run(fmt.Sprintf("%s/fine=%v/%dx%dx%d", tier, fine, c.m, c.n, c.k), func(b *testing.B) {
					defer setTier(tierName)
					useTier(b, tier)
					w, q := PackI8(normals(rng(1), c.n*c.k), c.n, c.k, fine, false), new(Quantised)
					x, bias, dst := outliers(2, c.m, c.k), make([]float32, c.n), make([]float32, c.m*c.n)
					for b.Loop() {
						q.Reset(c.m, c.k, fine)
						q.Quantise(0, x, c.k, c.m)
						MatMulI8(dst, c.n, q, 0, c.m, w, 0, c.n, Epilogue{Bias: bias})
					}
					reportFLOPS(b, 2*c.m*c.n*c.k)
					if c.m <= 16 {
						b.ReportMetric(float64(w.Bytes())*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
					}
				})
			}
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
