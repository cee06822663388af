package kernels

func depthwiseGeneric(dst, x []float32, ldx int, w []float32, ldw, taps int) {
	for i := range taps {
		row, weight := x[i*ldx:][:len(dst)], w[i*ldw:][:len(dst)]
		for c := range dst {
			dst[c] += row[c] * weight[c]
		}
	}
}
