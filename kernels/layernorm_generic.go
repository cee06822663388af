package kernels

import "math"

func normRowGeneric(dst, x, gamma, beta []float32, eps float32) {
	var mean, sq float64
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		sq += (float64(v) - mean) * (float64(v) - mean)
	}
	inv := 1 / math.Sqrt(sq/float64(len(x))+float64(eps))
	for i, v := range x {
		dst[i] = float32((float64(v)-mean)*inv*float64(gamma[i]) + float64(beta[i]))
	}
}
