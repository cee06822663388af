package kernels

func foldQuartersGeneric(evenSum, oddSum, evenDiff, oddDiff, x, w []float32) {
	q := len(evenSum)
	for n := range q {
		a, b := x[n]*w[n], x[4*q-n]*w[n]
		c, d := x[2*q-n]*w[2*q-n], x[2*q+n]*w[2*q-n]
		ab, cd := a+b, c+d
		evenSum[n], oddSum[n] = ab+cd, ab-cd
		ab, cd = a-b, c-d
		evenDiff[n], oddDiff[n] = ab-cd, ab+cd
	}
}
