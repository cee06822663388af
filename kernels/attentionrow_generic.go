package kernels

// dotRowsGeneric sets dst[i] = q·x[i], x being [len(dst)][ldx].
func dotRowsGeneric(dst, q, x []float32, ldx int) {
	for i := range dst {
		dst[i] = dotGeneric(q, x[i*ldx:][:len(q)])
	}
}

// addRowsGeneric adds the sum of p[i]*x[i] to dst, over ascending i, x being [len(p)][ldx].
func addRowsGeneric(dst, p, x []float32, ldx int) {
	for i, w := range p {
		axpyGeneric(dst, w, x[i*ldx:][:len(dst)])
	}
}
