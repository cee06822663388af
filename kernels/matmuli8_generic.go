package kernels

import "math"

// runGeneric computes c[i][j] = (sum over k of a[i][k]*b[j][k] - corr[i]) * rowScale[i] * colScale[j] + bias[j] for i
// in [0,rows) and j in [0,32*tiles). b is as in [PackedI8]. Sums may wrap, as long as what is left after corr does not.
func (t *tileI8) runGeneric() {
	if t.wide != nil {
		tileI8Generic(t, t.wide)
	} else {
		tileI8Generic(t, t.lo)
	}
}

func tileI8Generic[T int8 | int16](t *tileI8, a []T) {
	for i := range t.rows {
		row := a[i*t.lda:][:t.groups*groupK]
		for j := range t.tiles * tileCols {
			panel := t.b[j/panelCols*t.ldb+j%panelCols*groupK:]
			sum := -t.corr[i]
			for k := 0; k < len(row); k += groupK {
				x, w := (*[groupK]T)(row[k:]), (*[groupK]uint8)(panel[k*panelCols:])
				sum += int32(x[0])*int32(w[0]) + int32(x[1])*int32(w[1]) + int32(x[2])*int32(w[2]) + int32(x[3])*int32(w[3])
			}
			scale := float64(t.rowScale[i] * t.colScale[j])
			t.c[i*t.ldc+j] = float32(math.FMA(float64(float32(sum)), scale, float64(t.bias[j])))
		}
	}
}
