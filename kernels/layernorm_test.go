package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func layerNormRef(x, gamma, beta []float32, eps float64) []float64 {
	var mean, v float64
	for _, a := range x {
		mean += float64(a) / float64(len(x))
	}
	for _, a := range x {
		v += (float64(a) - mean) * (float64(a) - mean) / float64(len(x))
	}
	y := make([]float64, len(x))
	for i, a := range x {
		y[i] = (float64(a)-mean)/math.Sqrt(v+eps)*float64(gamma[i]) + float64(beta[i])
	}
	return y
}

func TestLayerNorm(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, d := range lengths[1:] {
			for _, offset := range []float32{0, 100} {
				r := rng(uint64(d))
				const rows = 3
				ldx, ldd := d+2, d+1
				x := normals(r, (rows-1)*ldx+d)
				for i := range x {
					x[i] += offset
				}
				x = guarded(t, x)
				gamma, beta := guarded(t, normals(r, d)), guarded(t, normals(r, d))
				dst := guarded(t, make([]float32, (rows-1)*ldd+d))
				LayerNorm(dst, ldd, x, ldx, rows, d, gamma, beta, 1e-5)
				alone, inPlace := make([]float32, d), slices.Clone(x)
				LayerNorm(inPlace, ldx, inPlace, ldx, rows, d, gamma, beta, 1e-5)
				for i := range rows {
					what := fmt.Sprintf("d %d offset %v row %d", d, offset, i)
					// The mean of values near an offset rounds by a few 2^-24 of it, and gamma enlarges that. A row of
					// two nearly equal elements divides it by less, so short rows get more.
					tol := 3e-6 + float64(offset)*1e-6
					if d < 16 {
						tol *= 20
					}
					near(t, what, dst[i*ldd:][:d], layerNormRef(x[i*ldx:][:d], gamma, beta, 1e-5), tol, tol)
					LayerNorm(alone, d, x[i*ldx:], d, 1, d, gamma, beta, 1e-5)
					sameBits(t, what+" alone", alone, dst[i*ldd:][:d])
					sameBits(t, what+" in place", inPlace[i*ldx:][:d], dst[i*ldd:][:d])
				}
			}
		}
	})
}

func TestLayerNormSpecial(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		one, zero := slices.Repeat([]float32{1}, 40), make([]float32, 40)
		dst := make([]float32, 40)
		LayerNorm(dst, 40, slices.Repeat([]float32{5}, 40), 40, 1, 40, one, zero, 1e-5)
		near(t, "constant row", dst, make([]float64, 40), 0, 0)
		x := slices.Repeat([]float32{5}, 40)
		x[17] = nan
		LayerNorm(dst, 40, x, 40, 1, 40, one, zero, 1e-5)
		near(t, "NaN", dst, slices.Repeat([]float64{math.NaN()}, 40), 0, 0)
		LayerNorm(nil, 0, nil, 0, 0, 40, nil, nil, 1e-5)
		LayerNorm(nil, 0, nil, 0, 3, 0, nil, nil, 1e-5)
	})
}

func BenchmarkLayerNorm(b *testing.B) {
	for _, tier := range tiers {
		b.Run(tier+"/1500x512", func(b *testing.B) {
			defer setTier(tierName)
			useTier(b, tier)
			const rows, d = 1500, 512
			x, dst := normals(rng(1), rows*d), make([]float32, rows*d)
			g, be := normals(rng(2), d), normals(rng(3), d)
			b.SetBytes(4 * rows * d)
			for b.Loop() {
				LayerNorm(dst, d, x, d, rows, d, g, be, 1e-5)
			}
		})
	}
}
