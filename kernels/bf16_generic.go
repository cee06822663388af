package kernels

import "math"

// toBF16 rounds to nearest, even in the middle. NaN stays NaN.
func toBF16(v float32) uint16 {
	b := math.Float32bits(v)
	if v != v {
		return uint16(b>>16) | 1<<6 // quiet, as its lower bits go
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

func fromBF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

func toPairsGeneric(dst []uint32, src []float32) {
	for i := range dst {
		at := i/panelCols*2*panelCols + i%panelCols
		dst[i] = uint32(toBF16(src[at])) | uint32(toBF16(src[at+panelCols]))<<16
	}
}

// fromPairsGeneric is the inverse: dst is twice as long as src.
func fromPairsGeneric(dst []float32, src []uint32) {
	for i, pair := range src {
		at := i/panelCols*2*panelCols + i%panelCols
		dst[at], dst[at+panelCols] = fromBF16(uint16(pair)), fromBF16(uint16(pair>>16))
	}
}

// roundPairsGeneric sets dst to the pairs of a row of x, and the second of a last one to zero where src's length is
// odd.
func roundPairsGeneric(dst []uint32, src []float32) {
	for i := range dst {
		dst[i] = uint32(toBF16(src[2*i]))
		if 2*i+1 < len(src) {
			dst[i] |= uint32(toBF16(src[2*i+1])) << 16
		}
	}
}

// tilePairsGeneric is tileGeneric for pairs: every kk stands for two products.
func tilePairsGeneric(c []float32, ldc int, a []uint32, lda, m int, b []uint32, ldb, k int, accumulate bool) {
	for i := range m {
		for j := range tileCols {
			panel, sum := b[j/panelCols*ldb+j%panelCols:], &c[i*ldc+j]
			if !accumulate {
				*sum = 0
			}
			for kk, x := range a[i*lda:][:k] {
				w := panel[kk*panelCols]
				*sum += fromBF16(uint16(x)) * fromBF16(uint16(w))
				*sum += fromBF16(uint16(x>>16)) * fromBF16(uint16(w>>16))
			}
		}
	}
}
