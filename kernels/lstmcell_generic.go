package kernels

import "math"

// lstmCellGeneric has gates n elements apart.
func lstmCellGeneric(h, c, gates []float32, n int) {
	for i := range h {
		in, forget, cell, out := gates[i], gates[n+i], gates[2*n+i], gates[3*n+i]
		v := sigmoidGeneric(forget)*c[i] + sigmoidGeneric(in)*tanhGeneric(cell)
		c[i], h[i] = v, sigmoidGeneric(out)*tanhGeneric(v)
	}
}

func tanhGeneric(x float32) float32 { return float32(math.Tanh(float64(x))) }
