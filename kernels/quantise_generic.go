package kernels

import "math"

// absSumsGeneric returns the greatest magnitude of x and the sum of all, len(x) being a multiple of 32, in the order of additions
// that every tier keeps: 32 lanes, of which the upper half is folded on the lower until one is left. NaN shows in the sum.
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

// toInt16Generic sets dst to the integers nearest to x*scale, the even one of two, and returns their sum. Integers must fit.
func toInt16Generic(dst []int16, x []float32, scale float32) (sum int32) {
	for i, v := range x {
		n := int32(math.RoundToEven(float64(v * scale)))
		dst[i] = int16(n)
		sum += n
	}
	return sum
}

// splitBytesGeneric takes numbers apart, q = 256*hi + lo with lo in [-128, 127], and reports whether any hi is not zero.
func splitBytesGeneric(lo, hi []int8, q []int16) (any bool) {
	for i, v := range q {
		lo[i], hi[i] = int8(v), int8((int32(v)+128)>>8)
		any = any || hi[i] != 0
	}
	return any
}

// highMasksGeneric sets bit g of masks where any row's four bytes from column 4g on are not all zero. hi is [rows][ld], of which the
// first 32*len(masks) columns count.
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
