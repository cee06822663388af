package kernels

import (
	"fmt"
	"slices"
	"testing"
)

// TestSevensAlike holds what makes rows of seven bits, and weights for them, to its references, to the bit.
func TestSevensAlike(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		for _, n := range []int{32, 64, 96, 512, 2080} {
			x := guarded(t, spiked(rng(uint64(n)), n, []float32{0, 40, -40, 1e-30}))
			most, sum, below := spread(x)
			wantMost, wantSum, wantBelow := spreadGeneric(x)
			sameBits(t, fmt.Sprint(n, " spread"), []float32{most, sum, below}, []float32{wantMost, wantSum, wantBelow})
			near(t, fmt.Sprint(n, " quads"), []float32{quadSums(x)}, wide([]float32{quadSumsGeneric(x)}), 0, 3e-7)

			lo, hi, wantLo, wantHi := make([]int8, n), make([]int8, n), make([]int8, n), make([]int8, n)
			any, wantAny := toSevens(lo, hi, x, 350, 37), toSevensGeneric(wantLo, wantHi, x, 350, 37)
			if any != wantAny || !slices.Equal(lo, wantLo) || !slices.Equal(hi, wantHi) {
				t.Fatalf("%d: toSevens: any %v, want %v; %v and %v, want %v and %v", n, any, wantAny, lo, hi, wantLo, wantHi)
			}
		}
		for _, eights := range []int{1, 2, 5} {
			const ldx = 21
			x := guarded(t, normals(rng(uint64(eights)), (8*eights-1)*ldx+panelCols))
			got, want := [panelCols]float32{3: 90}, [panelCols]float32{3: 90}
			columnsQuads(&got, x, ldx, eights)
			columnsQuadsGeneric(&want, x, ldx, eights)
			near(t, fmt.Sprint(eights, " eights"), got[:], wide(want[:]), 0, 3e-7)
		}
	})
}

// TestTileSevens holds the tile to its reference, with the greatest numbers that there are: what 16 bits can't hold
// would show.
func TestTileSevens(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		const k, n = 96, 2 * tileCols
		for _, c := range []struct {
			name    string
			weights []float32 // of a column, over and over
		}{
			{"one sign", []float32{1}},
			{"two of four", []float32{1, 1, 0, 0}},
			{"signs in turns", []float32{1, -1}},
			{"a great one", []float32{8, -1, 1, 0.5, -2}},
		} {
			w := make([]float32, n*k)
			for i := range w {
				w[i] = c.weights[(i+i/k)%len(c.weights)]
			}
			p := PackI8(w, n, k, true, false)
			sums := make([]int32, n)
			for j := range n / panelCols {
				panelSumsGeneric(sums[j*panelCols:][:panelCols], p.panels[j*panelCols*p.kp:][:panelCols*p.kp])
			}
			if p.sums != nil && !slices.Equal(p.sums, sums) {
				t.Errorf("%s: columns sum up to %v, want %v", c.name, p.sums, sums)
			}
			if !sevenBits() {
				continue
			}
			for rows := 1; rows <= StripRows; rows++ {
				x := &Quantised{m: rows, k: k, kp: k, fine: true, scale: slices.Repeat([]float32{0.5}, rows)}
				x.lo, x.zero = slices.Repeat([]int8{sevenMost}, rows*k), make([]int32, rows)
				x.lists.reset(rows, k)
				for i := range x.lists.count {
					x.lists.count[i] = i % 3
					copy(x.lists.list[i*x.lists.groups:], []uint32{0, 3 * groupK * panelCols})
				}
				for i := range x.lists.high {
					x.lists.high[i] = int8(127 - 254*(i%2))
				}
				for i := range x.zero {
					x.zero[i] = int32(i)
				}
				got, want := make([]float32, rows*n), make([]float32, rows*n)
				MatMulI8(got, n, x, 0, rows, p, 0, n, Epilogue{})
				h := tileI8{rows: rows, tiles: n / panelCols, c: want, ldc: n, corr: x.zero, bias: noBias[:]}
				h.take(x, 0, p, 0)
				tileSevensGeneric(&h)
				sameBits(t, fmt.Sprint(c.name, ", rows ", rows), got, want)
			}
		}
	})
}
