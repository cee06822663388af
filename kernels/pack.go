package kernels

import "fmt"

const (
	// panelCols is the width of a packed panel: one AVX-512 register, two AVX2 registers, one cache line.
	panelCols = 16
	// tileCols is how many columns a tile computes, the same for every tier so that they share one packing.
	tileCols = 2 * panelCols
)

// PackedF32 is a weight matrix [N][K] laid out for [MatMul]: panels of 16 output columns, [N/16][K][16], 64-byte
// aligned, with N padded by zeros to a multiple of 32. Weights that are halves, all of them, are kept as such;
// [PackBF16] keeps bfloat16. It does not change once made and may be shared.
type PackedF32 struct {
	N, K   int
	panels []float32 // or else
	halves []uint16  // or else
	pairs  []uint32  // [N/16][K/2][16], K padded to an even number, a pair being two bfloat16 of a column, the first in the low half
}

// PackF32 packs w, [n][k] row-major (the layout of a linear layer's weights: one row per output). w is copied and may
// be reused.
func PackF32(w []float32, n, k int) *PackedF32 {
	if n < 0 || k < 0 || len(w) < n*k {
		panic(fmt.Sprintf("kernels: PackF32: %d weights for %d x %d", len(w), n, k))
	}
	p := &PackedF32{N: n, K: k}
	if !p.packHalves(w) {
		p.panels = alignedFloats(roundUp(n, tileCols) * k)
		packColumns(p.panels, w, k, n, k)
	}
	return p
}

// PackHalves is PackF32 for weights that are halves (IEEE 754 binary16), little-endian, at any address, as files hold
// them.
func PackHalves(w []byte, n, k int) *PackedF32 {
	if n < 0 || k < 0 || len(w) < 2*n*k {
		panic(fmt.Sprintf("kernels: PackHalves: %d bytes for %d x %d", len(w), n, k))
	}
	p := &PackedF32{N: n, K: k, halves: alignedSlice[uint16](roundUp(n, tileCols) * k)}
	panel := make([]float32, panelCols*k)
	rows := widenedRows(w, k)
	for j := 0; j < n; j += panelCols {
		cols := min(panelCols, n-j)
		packPanel(panel, rows(j, cols), k, cols, k)
		toHalf(p.halves[j*k:], panel)
	}
	return p
}

// widenedRows makes rows of k of a file's halves float32, a panel's at most at a time: rows from row j on, until it is
// called again.
func widenedRows(w []byte, k int) func(j, rows int) []float32 {
	buf := make([]float32, panelCols*k)
	return func(j, rows int) []float32 {
		widen(buf[:rows*k], w[2*j*k:])
		return buf
	}
}

// packHalves packs w as halves and reports whether they are all that w holds. If not, p is as before.
func (p *PackedF32) packHalves(w []float32) bool {
	panel := make([]float32, panelCols*p.K)
	var halves []uint16
	for j := 0; j < p.N; j += panelCols {
		packPanel(panel, w[j*p.K:], p.K, min(panelCols, p.N-j), p.K)
		if j == 0 {
			if !toHalf(make([]uint16, len(panel)), panel) {
				return false
			}
			halves = alignedSlice[uint16](roundUp(p.N, tileCols) * p.K)
		}
		if !toHalf(halves[j*p.K:], panel) {
			return false
		}
	}
	p.halves = halves
	return true
}

// Bytes returns the memory that the packed weights take.
func (p *PackedF32) Bytes() int { return 4*cap(p.panels) + 2*cap(p.halves) + 4*cap(p.pairs) }

// packColumns writes src, [n][k] with row stride lds, as panels of 16 rows: dst[(j/16)*k*16 + i*16 + j%16] =
// src[j*lds+i]. The lanes of a last, partial panel are set to zero; panels beyond it are left alone.
func packColumns(dst, src []float32, lds, n, k int) {
	for j := 0; j < n; j += panelCols {
		packPanel(dst[j*k:][:k*panelCols], src[j*lds:], lds, min(panelCols, n-j), k)
	}
}
