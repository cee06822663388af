package kernels

import "math"

// sigmoidGeneric is 1/(1+exp(-x)) without overflow.
func sigmoidGeneric(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }

func gateGeneric(dst, x, gate []float32) {
	for i, v := range gate {
		dst[i] = x[i] * sigmoidGeneric(v)
	}
}
