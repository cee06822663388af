//go:build (!amd64 && !arm64) || noasm

package kernels

func expSumPart(row []float32, shift, scale float32) float32 { return expSumGeneric(row, shift, scale) }
func sumExp(row []float32, shift float32) float32            { return sumExpGeneric(row, shift) }
func maxPart(row []float32) float32                          { return maxGeneric(row) }

func exp2SumShort(row []float32, shift, scale float32) float32 {
	return exp2SumShortGeneric(row, shift, scale)
}
