//go:build !amd64 || noasm

package kernels

// sevenBits says whether rows are of seven bits, which only AVX2 has use for.
func sevenBits() bool { return false }

func tileSevens(t *tileI8)                          { tileSevensGeneric(t) }
func spread(x []float32) (most, sum, below float32) { return spreadGeneric(x) }
func quadSums(x []float32) (most float32)           { return quadSumsGeneric(x) }
func panelSums(sums []int32, panel []uint8)         { panelSumsGeneric(sums, panel) }

func toSevens(lo, hi []int8, x []float32, scale float32, zero int32) (any bool) {
	return toSevensGeneric(lo, hi, x, scale, zero)
}

func columnsQuads(most *[panelCols]float32, x []float32, ldx, eights int) {
	columnsQuadsGeneric(most, x, ldx, eights)
}
