package kernels

import "math"

// geluGeneric stops at -40, where the result has long been zero, so that -Inf gives zero too and not NaN.
func geluGeneric(x []float32) {
	for i, v := range x {
		c := max(float64(v), -40)
		x[i] = float32(0.5 * c * math.Erfc(-c*(1/math.Sqrt2)))
	}
}

// reluGeneric keeps a NaN, as the assembly does.
func reluGeneric(x []float32) {
	for i, v := range x {
		if v < 0 {
			x[i] = 0
		}
	}
}

func siluGeneric(x []float32) {
	for i, v := range x {
		x[i] = float32(float64(v) / (1 + math.Exp(-float64(v))))
	}
}
