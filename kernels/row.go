package kernels

import "fmt"

// Row copies row n of the weight to dst, which holds at least K elements: what an embedding looks up in a matrix that
// is also used as the output layer.
func (p *PackedF32) Row(n int, dst []float32) {
	if n < 0 || n >= p.N || len(dst) < p.K {
		panic(fmt.Sprintf("kernels: Row: row %d of %d x %d into %d", n, p.N, p.K, len(dst)))
	}
	for i := range dst[:p.K] {
		dst[i] = p.weight(n, i)
	}
}

// weight is the weight of output n and input i.
func (p *PackedF32) weight(n, i int) float32 {
	panel, lane := n/panelCols*panelCols, n%panelCols
	switch {
	case p.pairs != nil:
		return fromBF16(uint16(p.pairs[panel*pairsOf(p.K)+i/2*panelCols+lane] >> (i % 2 * 16)))
	case p.halves != nil:
		return halfToFloat(p.halves[panel*p.K+i*panelCols+lane])
	}
	return p.panels[panel*p.K+i*panelCols+lane]
}
