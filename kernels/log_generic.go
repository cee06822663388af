package kernels

import "math"

func logGeneric(x []float32) {
	for i, v := range x {
		x[i] = float32(math.Log(float64(v))) + (v - v)
	}
}
