//go:build amd64 && !noasm

package kernels

// The kernels below are those of softmax_generic.go for n elements. exp's relative error is below 1e-7; sums are
// partial sums of 16 or 32 lanes.

//go:noescape
func expSumAVX2(x *float32, n int, shift, scale float32) (sum float32)

//go:noescape
func expSumAVX512(x *float32, n int, shift, scale float32) (sum float32)

//go:noescape
func sumExpAVX2(x *float32, n int, shift float32) (sum float32)

//go:noescape
func sumExpAVX512(x *float32, n int, shift float32) (sum float32)

//go:noescape
func maxAVX2(x *float32, n int) (m float32)

//go:noescape
func maxAVX512(x *float32, n int) (m float32)

//go:noescape
func exp2SumShortAVX2(x *float32, n int, shift, scale float32) (sum float32)

//go:noescape
func exp2SumShortAVX512(x *float32, n int, shift, scale float32) (sum float32)

func exp2SumShort(row []float32, shift, scale float32) float32 {
	switch {
	case useAVX512:
		return exp2SumShortAVX512(&row[0], len(row), shift, scale)
	case useAVX2:
		return exp2SumShortAVX2(&row[0], len(row), shift, scale)
	}
	return exp2SumShortGeneric(row, shift, scale)
}

func expSumPart(row []float32, shift, scale float32) float32 {
	switch {
	case len(row) == 0:
		return 0
	case useAVX512:
		return expSumAVX512(&row[0], len(row), shift, scale)
	case useAVX2:
		return expSumAVX2(&row[0], len(row), shift, scale)
	}
	return expSumGeneric(row, shift, scale)
}

func sumExp(row []float32, shift float32) float32 {
	switch {
	case len(row) == 0:
		return 0
	case useAVX512:
		return sumExpAVX512(&row[0], len(row), shift)
	case useAVX2:
		return sumExpAVX2(&row[0], len(row), shift)
	}
	return sumExpGeneric(row, shift)
}

func maxPart(row []float32) float32 {
	switch {
	case len(row) == 0:
		return maxGeneric(row)
	case useAVX512:
		return maxAVX512(&row[0], len(row))
	case useAVX2:
		return maxAVX2(&row[0], len(row))
	}
	return maxGeneric(row)
}
