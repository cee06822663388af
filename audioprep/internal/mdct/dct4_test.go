package mdct

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestDCT4 holds every size that codecs use to the sum that defines it.
func TestDCT4(t *testing.T) {
	for _, n := range []int{2, 4, 6, 10, 12, 30, 32, 64, 120, 128, 160, 240, 256, 320, 480, 512, 960, 1024, 2048} {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		x, want := make([]float32, n), make([]float64, n)
		for i := range x {
			x[i] = rng.Float32()*2 - 1
		}
		for j := range want {
			for k, v := range x {
				want[j] += float64(v) * math.Cos(math.Pi/float64(n)*(float64(j)+0.5)*(float64(k)+0.5))
			}
		}
		NewDCT4(n).Transform(x)
		noise, signal := 0.0, 0.0
		for i, v := range x {
			noise += (float64(v) - want[i]) * (float64(v) - want[i])
			signal += want[i] * want[i]
		}
		// float32 has 24 bits; the error grows with the number of passes.
		if db := 10 * math.Log10(noise/signal+1e-30); db > -130 {
			t.Errorf("%d values: the error is at %.1f dB", n, db)
		}
	}
}

func TestDCT4Sizes(t *testing.T) {
	for _, n := range []int{0, 1, 7, 14} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for %d values", n)
				}
			}()
			NewDCT4(n)
		}()
	}
}

func BenchmarkDCT4(b *testing.B) {
	for _, n := range []int{128, 320, 960, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d, x := NewDCT4(n), make([]float32, n)
			b.SetBytes(int64(4 * n))
			for b.Loop() {
				d.Transform(x)
			}
		})
	}
}
