//go:build arm64 && !noasm

package kernels

import "math"

// The kernels below are those of softmax_generic.go for n elements, a multiple of four. exp's relative error is below
// 1e-7; sums are partial sums of 16 lanes.

//go:noescape
func expSumNEON(x *float32, n int, shift, scale float32) (sum float32)

//go:noescape
func sumExpNEON(x *float32, n int, shift float32) (sum float32)

//go:noescape
func maxNEON(x *float32, n int) (m float32)

//go:noescape
func exp2SumShortNEON(x *float32, n int, shift, scale float32) (sum float32)

// nothing adds nothing to a sum of exponentials, and is never the greatest.
var nothing = float32(math.Inf(-1))

// summed runs a kernel that sums what it makes of the elements, and may replace them.
func summed(x []float32, kernel func(x *float32, n int) float32) (sum float32) {
	n := whole(len(x))
	if n > 0 {
		sum = kernel(&x[0], n)
	}
	if n < len(x) {
		v := padded(x[n:], nothing)
		sum += kernel(&v[0], len(v))
		copy(x[n:], v[:])
	}
	return sum
}

func exp2SumShort(row []float32, shift, scale float32) float32 {
	if !useNEON {
		return exp2SumShortGeneric(row, shift, scale)
	}
	return summed(row, func(x *float32, n int) float32 { return exp2SumShortNEON(x, n, shift, scale) })
}

func expSumPart(row []float32, shift, scale float32) float32 {
	if !useNEON {
		return expSumGeneric(row, shift, scale)
	}
	return summed(row, func(x *float32, n int) float32 { return expSumNEON(x, n, shift, scale) })
}

func sumExp(row []float32, shift float32) (sum float32) {
	if !useNEON {
		return sumExpGeneric(row, shift)
	}
	return summed(row, func(x *float32, n int) float32 { return sumExpNEON(x, n, shift) })
}

func maxPart(row []float32) float32 {
	if !useNEON {
		return maxGeneric(row)
	}
	m, n := nothing, whole(len(row))
	if n > 0 {
		m = maxNEON(&row[0], n)
	}
	if n < len(row) {
		v := padded(row[n:], nothing)
		m = max(m, maxNEON(&v[0], len(v)))
	}
	return m
}
