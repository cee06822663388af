package kernels

func foldQuartersGeneric(evenSum, oddSum, evenDiff, oddDiff, x, w []float32) {
	q := len(evenSum)
	for n := range q {
		// Said to be float32, products are rounded before they are added: else a compiler may fuse the two.
		a, b := float32(x[n]*w[n]), float32(x[4*q-n]*w[n])
		c, d := float32(x[2*q-n]*w[2*q-n]), float32(x[2*q+n]*w[2*q-n])
		ab, cd := a+b, c+d
		evenSum[n], oddSum[n] = ab+cd, ab-cd
		ab, cd = a-b, c-d
		evenDiff[n], oddDiff[n] = ab-cd, ab+cd
	}
}
