package kernels

import "math"

// absSumsGeneric returns the greatest magnitude of x and the sum of all, len(x) being a multiple of 32, in the order of
// additions that every tier keeps: 32 lanes, of which the upper half is folded on the lower until one is left. NaN
// shows in the sum.
func absSumsGeneric(x []float32) (most, sum float32) {
	var lanes [32]float32
	for i, v := range x {
		v = float32(math.Abs(float64(v)))
		if v > most {
			most = v
		}
		lanes[i%32] += v
	}
	for half := 16; half > 0; half /= 2 {
		for i := range half {
			lanes[i] += lanes[i+half]
		}
	}
	return most, lanes[0]
}

// toInt16Generic sets dst to the integers nearest to x*scale, the even one of two, and returns their sum. Integers must
// fit.
func toInt16Generic(dst []int16, x []float32, scale float32) (sum int32) {
	for i, v := range x {
		n := int32(math.RoundToEven(float64(v * scale)))
		dst[i] = int16(n)
		sum += n
	}
	return sum
}

// toBytesGeneric rounds as toInt16Generic does and takes the numbers apart, q = 256*hi + lo with lo in [-128, 127]. It
// returns the numbers' sum and reports whether any hi is not zero.
func toBytesGeneric(lo, hi []int8, x []float32, scale float32) (sum int32, any bool) {
	for i, v := range x {
		n := int32(math.RoundToEven(float64(v * scale)))
		lo[i], hi[i] = int8(n), int8((n+128)>>8)
		sum += n
		any = any || hi[i] != 0
	}
	return sum, any
}

// highMasksGeneric sets bit g of masks where any row's four bytes from column 4g on are not all zero. hi is [rows][ld],
// of which the first 32*len(masks) columns count.
func highMasksGeneric(masks []uint8, hi []int8, ld, rows int) {
	for b := range masks {
		masks[b] = 0
		for r := range rows {
			for i, v := range hi[r*ld+b*padK:][:padK] {
				if v != 0 {
					masks[b] |= 1 << (i / groupK)
				}
			}
		}
	}
}

// columnsMaxGeneric raises most to the magnitudes in rows rows of x, [rows][ldx], for 16 columns.
func columnsMaxGeneric(most *[panelCols]float32, x []float32, ldx, rows int) {
	for i := range rows {
		for j, v := range x[i*ldx:][:panelCols] {
			most[j] = max(most[j], v, -v)
		}
	}
}

// packGroupsGeneric rounds x*scale, 16 columns of four rows a group, and writes a column's four bytes, with 128 added,
// side by side: dst is [groups][16][4]. Rounded numbers must be within [-127, 127].
func packGroupsGeneric(dst []uint8, x []float32, ldx, groups int, scale *[panelCols]float32) {
	for i := range groups * groupK {
		for j, v := range x[i*ldx:][:panelCols] {
			dst[i/groupK*groupK*panelCols+j*groupK+i%groupK] = uint8(int32(math.RoundToEven(float64(v*scale[j]))) + 128)
		}
	}
}
