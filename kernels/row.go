package kernels

import "fmt"

// Row copies row n of the weight to dst, which holds at least K elements: what an embedding looks up in a matrix that is also used
// as the output layer.
func (p *PackedF32) Row(n int, dst []float32) {
	if n < 0 || n >= p.N || len(dst) < p.K {
		panic(fmt.Sprintf("kernels: Row: row %d of %d x %d into %d", n, p.N, p.K, len(dst)))
	}
	at := n/panelCols*panelCols*p.K + n%panelCols
	for i := range dst[:p.K] {
		if p.halves != nil {
			dst[i] = halfToFloat(p.halves[at+i*panelCols])
		} else {
			dst[i] = p.panels[at+i*panelCols]
		}
	}
}
