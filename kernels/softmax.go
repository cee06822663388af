package kernels

import "math"

// Softmax replaces row by exp(row - max) / sum of the same. An element of -Inf becomes exactly 0, as does one more than
// 87 below the greatest. A row that holds NaN or +Inf, or -Inf only, becomes NaN.
func Softmax(row []float32) {
	if len(row) == 0 {
		return
	}
	Scale(row, 1/expSum(row, rowMax(row), 1))
}

// LogSumExp returns the greatest element of row, NaN aside, and log(sum of exp(row)), computed without overflow.
// Elements of -Inf add nothing; a row of -Inf only, or an empty one, gives -Inf for both.
func LogSumExp(row []float32) (max, lse float32) {
	max = rowMax(row)
	if math.IsInf(float64(max), 0) {
		for _, v := range row {
			if v != v {
				return max, v
			}
		}
		return max, max
	}
	var sum float32
	for i := 0; i < len(row); i += maxElems {
		sum += sumExp(row[i:min(i+maxElems, len(row))], max)
	}
	return max, float32(float64(max) + math.Log(float64(sum)))
}

// expSum sets row = exp((row - shift) * scale) and returns the sum of the new elements. The difference is taken first,
// so that huge scores don't lose their order to rounding.
func expSum(row []float32, shift, scale float32) float32 {
	var sum float32
	for i := 0; i < len(row); i += maxElems {
		sum += expSumPart(row[i:min(i+maxElems, len(row))], shift, scale)
	}
	return sum
}

// weights sets row = exp((row - max) * scale), to within 1e-5 of that, and returns the sum of the new elements: softmax
// where its result will be rounded anyway. A row of NaN, and one of -Inf, become NaN.
func weights(row []float32, scale float32) float32 {
	scale *= math.Log2E
	shift := -rowMax(row) * scale
	var sum float32
	for i := 0; i < len(row); i += maxElems {
		sum += exp2SumShort(row[i:min(i+maxElems, len(row))], shift, scale)
	}
	return sum
}

// rowMax returns the greatest element that is no NaN, -Inf if there is none.
func rowMax(row []float32) float32 {
	m := float32(math.Inf(-1))
	for i := 0; i < len(row); i += maxElems {
		m = max(m, maxPart(row[i:min(i+maxElems, len(row))]))
	}
	return m
}
