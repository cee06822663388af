package kernels

import "fmt"

// Row copies row n of the weight to dst, which holds at least K elements: what an embedding looks up in a matrix that is also used
// as the output layer.
func (p *PackedF32) Row(n int, dst []float32) {
	if n < 0 || n >= p.N || len(dst) < p.K {
		panic(fmt.Sprintf("kernels: Row: row %d of %d x %d into %d", n, p.N, p.K, len(dst)))
	}
	panel := p.panels[n/panelCols*panelCols*p.K:]
	for i := range dst[:p.K] {
		dst[i] = panel[i*panelCols+n%panelCols]
	}
}
