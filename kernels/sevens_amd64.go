//go:build amd64 && !noasm

package kernels

// The kernels below are those of sevens_generic.go for n elements, n > 0 and a multiple of 32, with strides in bytes.

//go:noescape
func tileSevensAVX2(t *tileI8)

// tileSevensBlocksAVX2 does what tileSevensAVX2 does by t.blocks alone.
//
//go:noescape
func tileSevensBlocksAVX2(t *tileI8)

//go:noescape
func spreadAVX2(x *float32, n int) (most, sum, below float32)

//go:noescape
func toSevensAVX2(lo, hi *int8, x *float32, n int, scale float32, zero int32) (any int32)

//go:noescape
func quadSumsAVX2(x *float32, n int) (most float32)

//go:noescape
func columnsQuadsAVX2(most, x *float32, ldx, eights int)

//go:noescape
func panelSumsAVX2(sums *int32, panel *uint8, groups int)

// sevenBits says whether rows are of seven bits, which it takes VNNI to do without.
func sevenBits() bool { return useAVX2 && !hasVNNI() }

func tileSevens(t *tileI8) {
	if t.blocks != nil {
		tileSevensBlocksAVX2(t)
		return
	}
	tileSevensAVX2(t)
}

func spread(x []float32) (most, sum, below float32) {
	if !useAVX2 {
		return spreadGeneric(x)
	}
	return spreadAVX2(&x[0], len(x))
}

func toSevens(lo, hi []int8, x []float32, scale float32, zero int32) (any bool) {
	if !useAVX2 {
		return toSevensGeneric(lo, hi, x, scale, zero)
	}
	return toSevensAVX2(&lo[0], &hi[0], &x[0], len(x), scale, zero) != 0
}

func quadSums(x []float32) (most float32) {
	if !useAVX2 {
		return quadSumsGeneric(x)
	}
	return quadSumsAVX2(&x[0], len(x))
}

func columnsQuads(most *[panelCols]float32, x []float32, ldx, eights int) {
	if !useAVX2 {
		columnsQuadsGeneric(most, x, ldx, eights)
		return
	}
	columnsQuadsAVX2(&most[0], &x[0], 4*ldx, eights)
}

func panelSums(sums []int32, panel []uint8) {
	if !useAVX2 {
		panelSumsGeneric(sums, panel)
		return
	}
	panelSumsAVX2(&sums[0], &panel[0], len(panel)/(groupK*panelCols))
}
