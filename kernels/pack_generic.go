package kernels

// packPanelGeneric transposes src, [cols][k] with row stride lds and at most 16 rows, into dst, [k][16]; missing rows
// become zero.
func packPanelGeneric(dst, src []float32, lds, cols, k int) {
	for j := range cols {
		for i, v := range src[j*lds:][:k] {
			dst[i*panelCols+j] = v
		}
	}
	for j := cols; j < panelCols; j++ {
		for i := range k {
			dst[i*panelCols+j] = 0
		}
	}
}
