package kernels

import "fmt"

// FoldQuarters weighs a stretch and folds it twice, first about its middle, then about the middle of each half: what is
// left of a Fourier transform's work once the evenness of cosines and the oddness of sines are used. With a, b, c, d
// the weighted x[n], x[4q-n], x[2q-n] and x[2q+n], the weights being w[n] for the outer and w[2q-n] for the inner two,
// it sets for n in [0, q)
//
//	evenSum[n]  = (a+b) + (c+d)    oddSum[n]  = (a+b) - (c+d)
//	evenDiff[n] = (a-b) - (c-d)    oddDiff[n] = (a-b) + (c-d)
//
// x has 4q+1 elements, w 2q+1, the results q each, of which there are at least 16. Results must not overlap x or w.
func FoldQuarters(evenSum, oddSum, evenDiff, oddDiff, x, w []float32) {
	q := len(evenSum)
	if q < 16 || q > maxElems || len(oddSum) != q || len(evenDiff) != q || len(oddDiff) != q || len(x) < 4*q+1 || len(w) < 2*q+1 {
		panic(fmt.Sprintf("kernels: FoldQuarters: quarters of %d, %d, %d and %d from %d elements and %d weights",
			q, len(oddSum), len(evenDiff), len(oddDiff), len(x), len(w)))
	}
	foldQuarters(evenSum, oddSum, evenDiff, oddDiff, x, w)
}
