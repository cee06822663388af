package kernels

import (
	"fmt"
	"slices"
	"testing"
)

// TestQuantiseAlike holds the steps of quantising to their references, to the bit.
func TestQuantiseAlike(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range []int{0, 32, 64, 96, 512, 2080} {
			x := guarded(t, spiked(rng(uint64(n)), n, []float32{0, 40, -40, 1e-30}))
			most, sum := absSums(x)
			wantMost, wantSum := absSumsGeneric(x)
			sameBits(t, fmt.Sprint(n, " most and sum"), []float32{most, sum}, []float32{wantMost, wantSum})

			q, wantQ := make([]int16, n), make([]int16, n)
			if got, want := toInt16(q, x, 350), toInt16Generic(wantQ, x, 350); got != want || !slices.Equal(q, wantQ) {
				t.Fatalf("%d: toInt16: sum %d, want %d; %v, want %v", n, got, want, q, wantQ)
			}
			lo, hi, wantLo, wantHi := make([]int8, n), make([]int8, n), make([]int8, n), make([]int8, n)
			if got, want := splitBytes(lo, hi, q), splitBytesGeneric(wantLo, wantHi, q); got != want || !slices.Equal(lo, wantLo) || !slices.Equal(hi, wantHi) {
				t.Fatalf("%d: splitBytes: any %v, want %v", n, got, want)
			}
			for i := range q {
				if int(q[i]) != 256*int(hi[i])+int(lo[i]) {
					t.Fatalf("%d is not 256*%d + %d", q[i], hi[i], lo[i])
				}
			}
		}
	})
}

func TestHighMasks(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		const rows, ld, n = 5, 128, 96
		r := rng(1)
		hi := make([]int8, rows*ld)
		for i := range hi {
			if r.IntN(20) == 0 || i%ld >= n {
				hi[i] = int8(r.IntN(255) - 127)
			}
		}
		for m := 1; m <= rows; m++ {
			got, want := make([]uint8, n/padK), make([]uint8, n/padK)
			highMasks(got, hi, ld, m)
			highMasksGeneric(want, hi, ld, m)
			if !slices.Equal(got, want) {
				t.Errorf("%d rows: got %08b, want %08b", m, got, want)
			}
		}
	})
}

func BenchmarkQuantise(b *testing.B) {
	for _, tier := range tiers[1:] {
		for _, fine := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/fine=%v", tier, fine), func(b *testing.B) {
				defer setTier(tierName)
				useTier(b, tier)
				const m, k = 1500, 512
				x, q := outliers(1, m, k), new(Quantised)
				q.Reset(m, k, fine)
				b.SetBytes(4 * m * k)
				for b.Loop() {
					q.Quantise(0, x, k, m)
				}
			})
		}
	}
}
