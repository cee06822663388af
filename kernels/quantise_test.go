package kernels

import (
	"fmt"
	"slices"
	"testing"
)

// TestQuantiseAlike holds the steps of quantising to their references, to the bit.
func TestQuantiseAlike(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range []int{32, 64, 96, 512, 2080} {
			x := guarded(t, spiked(rng(uint64(n)), n, []float32{0, 40, -40, 1e-30}))
			most, sum := absSums(x)
			wantMost, wantSum := absSumsGeneric(x)
			sameBits(t, fmt.Sprint(n, " most and sum"), []float32{most, sum}, []float32{wantMost, wantSum})

			q, wantQ := make([]int16, n), make([]int16, n)
			if got, want := toInt16(q, x, 350), toInt16Generic(wantQ, x, 350); got != want || !slices.Equal(q, wantQ) {
				t.Fatalf("%d: toInt16: sum %d, want %d; %v, want %v", n, got, want, q, wantQ)
			}
			lo, hi, wantLo, wantHi := make([]int8, n), make([]int8, n), make([]int8, n), make([]int8, n)
			got, any := toBytes(lo, hi, x, 350)
			want, wantAny := toBytesGeneric(wantLo, wantHi, x, 350)
			if got != want || any != wantAny || !slices.Equal(lo, wantLo) || !slices.Equal(hi, wantHi) {
				t.Fatalf("%d: toBytes: sum %d, want %d; any %v, want %v; %v, want %v", n, got, want, any, wantAny, lo, wantLo)
			}
			for i := range q {
				if int(q[i]) != 256*int(hi[i])+int(lo[i]) {
					t.Fatalf("%d is not 256*%d + %d", q[i], hi[i], lo[i])
				}
			}
		}
	})
}

// TestPackGroupsAlike holds the steps of packing columns to their references.
func TestPackGroupsAlike(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, groups := range []int{1, 2, 5} {
			const ldx = 21
			rows := groups * groupK
			x := guarded(t, normals(rng(uint64(groups)), (rows-1)*ldx+panelCols))
			most, wantMost := [panelCols]float32{3: 9}, [panelCols]float32{3: 9}
			columnsMax(&most, x, ldx, rows)
			columnsMaxGeneric(&wantMost, x, ldx, rows)
			sameBits(t, "most", most[:], wantMost[:])
			for i, v := range most {
				most[i] = 127 / v
			}
			got, want := make([]uint8, rows*panelCols), make([]uint8, rows*panelCols)
			packGroups(got, x, ldx, groups, &most)
			packGroupsGeneric(want, x, ldx, groups, &most)
			if !slices.Equal(got, want) {
				t.Fatalf("%d groups: got %v, want %v", groups, got, want)
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
