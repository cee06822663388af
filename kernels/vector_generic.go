package kernels

func addGeneric(dst, a, b []float32) {
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func scaleGeneric(x []float32, s float32) {
	for i := range x {
		x[i] *= s
	}
}

func axpyGeneric(dst []float32, a float32, x []float32) {
	for i := range dst {
		dst[i] += a * x[i]
	}
}

func dotGeneric(a, b []float32) float32 {
	var s float64
	for i, v := range a {
		s += float64(v) * float64(b[i])
	}
	return float32(s)
}

func addSquaresGeneric(dst, a, b []float32) {
	for i := range dst {
		dst[i] = a[i]*a[i] + b[i]*b[i]
	}
}

func raiseGeneric(x []float32, least, scale, shift float32) {
	for i, v := range x {
		x[i] = max(v, least)*scale + shift
	}
}
