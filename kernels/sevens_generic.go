package kernels

import "math"

// spreadGeneric is absSumsGeneric that finds how far below zero the numbers go, too.
func spreadGeneric(x []float32) (most, sum, below float32) {
	most, sum = absSumsGeneric(x)
	for _, v := range x {
		if -v > below {
			below = -v
		}
	}
	return most, sum, below
}

// toSevensGeneric sets lo and hi to the parts of the integers nearest to x*scale, the even one of two, plus zero:
// 128*hi + lo with lo in [0, 127]. It reports whether any hi is not zero. Integers must fit.
func toSevensGeneric(lo, hi []int8, x []float32, scale float32, zero int32) (any bool) {
	for i, v := range x {
		n := int32(math.RoundToEven(float64(v*scale))) + zero
		lo[i], hi[i] = int8(n&sevenMost), int8(n>>7)
		any = any || hi[i] != 0
	}
	return any
}

// quadSumsGeneric returns the greatest of the sums that a tile makes in 16 bits: of the numbers above zero, or those
// below, of four. len(x) is a multiple of 8.
func quadSumsGeneric(x []float32) (most float32) {
	for i := 0; i < len(x); i += 8 {
		for j := 0; j < 4; j += 2 {
			var above, below float32
			for _, v := range [...]float32{x[i+j], x[i+j+1], x[i+j+4], x[i+j+5]} {
				above, below = above+max(v, 0), below+max(-v, 0)
			}
			most = max(most, above, below)
		}
	}
	return most
}

// columnsQuadsGeneric raises most to quadSums of 16 columns, 8*eights rows of x.
func columnsQuadsGeneric(most *[panelCols]float32, x []float32, ldx, eights int) {
	column := make([]float32, 8*eights)
	for j := range most {
		for i := range column {
			column[i] = x[i*ldx+j]
		}
		most[j] = max(most[j], quadSumsGeneric(column))
	}
}

// panelSumsGeneric sums a panel's columns.
func panelSumsGeneric(sums []int32, panel []uint8) {
	clear(sums)
	for i, w := range panel {
		sums[i/groupK%panelCols] += int32(int8(w))
	}
}

// tileSevensGeneric computes what tileI8's runGeneric does, with corr[i]*colSum[j] in place of corr[i], for t.tiles
// panels. Weights are signed, and a row's numbers 128*hi + lo with hi as listed.
func tileSevensGeneric(t *tileI8) {
	for i := range t.rows {
		row := t.lo[i*t.lda:][:t.groups*groupK]
		for j := range t.tiles * panelCols {
			panel := t.b[j/panelCols*t.ldb+j%panelCols*groupK:]
			sum := -t.corr[i] * t.colSum[j]
			for k, v := range row {
				sum += int32(v) * int32(int8(panel[k/groupK*groupK*panelCols+k%groupK]))
			}
			for g, at := range t.list[i*t.groups:][:t.counts[i]] {
				for k, v := range t.high[(i*t.groups+g)*groupK:][:groupK] {
					sum += 128 * int32(v) * int32(int8(panel[int(at)+k]))
				}
			}
			scale := float64(t.rowScale[i] * t.colScale[j])
			t.c[i*t.ldc+j] = float32(math.FMA(float64(float32(sum)), scale, float64(t.bias[j])))
		}
	}
}
