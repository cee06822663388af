package kernels

// tileGeneric computes c[i][j] = (c[i][j] if accumulate, else 0) + sum over ascending kk of a[i][kk]*b[j/16][kk][j%16]
// for i in [0,m) and j in [0,32). a is [m][lda], c is [m][ldc]; the second panel of b begins ldb elements after the
// first.
func tileGeneric(c []float32, ldc int, a []float32, lda, m int, b []float32, ldb, k int, accumulate bool) {
	const lanes = 8 // as many sums as leave registers for the operands
	for i := range m {
		row := a[i*lda:][:k]
		for j := 0; j < tileCols; j += lanes {
			out := (*[lanes]float32)(c[i*ldc+j:])
			var s [lanes]float32
			if accumulate {
				s = *out
			}
			s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
			panel := b[j/panelCols*ldb+j%panelCols:]
			for kk, x := range row {
				w := (*[lanes]float32)(panel[kk*panelCols:])
				s0 += x * w[0]
				s1 += x * w[1]
				s2 += x * w[2]
				s3 += x * w[3]
				s4 += x * w[4]
				s5 += x * w[5]
				s6 += x * w[6]
				s7 += x * w[7]
			}
			*out = [lanes]float32{s0, s1, s2, s3, s4, s5, s6, s7}
		}
	}
}

// tileHalfGeneric is tileGeneric for panels of halves.
func tileHalfGeneric(c []float32, ldc int, a []float32, lda, m int, b []uint16, ldb, k int, accumulate bool) {
	const step = 64
	var panels [2 * step * panelCols]float32
	for kk := 0; kk < k; kk += step {
		n := min(step, k-kk)
		for p := range 2 {
			fromHalfGeneric(panels[p*step*panelCols:][:n*panelCols], b[p*ldb+kk*panelCols:])
		}
		tileGeneric(c, ldc, a[kk:], lda, m, panels[:], step*panelCols, n, accumulate || kk > 0)
	}
}
