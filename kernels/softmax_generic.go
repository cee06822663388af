package kernels

import "math"

// expCut is where exp is cut to zero, in every tier: just above where its results would be denormal, which some CPUs
// handle slowly.
const expCut = -87

// expGeneric is exp as the kernels mean it.
func expGeneric(x float32) float32 {
	if x < expCut {
		return 0
	}
	return float32(math.Exp(float64(x)))
}

func expSumGeneric(row []float32, shift, scale float32) float32 {
	var sum float64
	for i, v := range row {
		row[i] = expGeneric((v - shift) * scale)
		sum += float64(row[i])
	}
	return float32(sum)
}

func sumExpGeneric(row []float32, shift float32) float32 {
	var sum float64
	for _, v := range row {
		sum += float64(expGeneric(v - shift))
	}
	return float32(sum)
}

func maxGeneric(row []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range row {
		if v > m {
			m = v
		}
	}
	return m
}

// exp2SumShortGeneric sets row = 2^(row*scale + shift) and returns the sum of the new elements. The assembly's relative
// error is below 1e-5, and what is below 2^-120 need not be right.
func exp2SumShortGeneric(row []float32, shift, scale float32) float32 {
	var sum float64
	for i, v := range row {
		row[i] = float32(math.Exp2(max(-120, float64(v*scale+shift))))
		sum += float64(row[i])
	}
	return float32(sum)
}
