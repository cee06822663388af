package kernels

import "fmt"

// Depthwise adds to each channel its own weighted sum of taps rows: dst[c] += sum over ascending i of x[i*ldx+c] *
// w[i*ldw+c]. It is the inner step of a convolution that keeps channels apart, over channel-minor data. x and w hold
// taps rows of len(dst) elements.
func Depthwise(dst, x []float32, ldx int, w []float32, ldw, taps int) {
	n := len(dst)
	if taps <= 0 || n == 0 {
		return
	}
	if taps > 1 && (ldx < n || ldw < n) || len(x) < (taps-1)*ldx+n || len(w) < (taps-1)*ldw+n {
		panic(fmt.Sprintf("kernels: Depthwise: %d taps of %d channels: x %d at stride %d, weights %d at stride %d", taps, n, len(x), ldx, len(w), ldw))
	}
	for c := 0; c < n; c += maxElems / 8 {
		depthwise(dst[c:min(c+maxElems/8, n)], x[c:], ldx, w[c:], ldw, taps)
	}
}

// AddWeighted adds a weighted sum of rows to dst: dst[c] += sum over ascending i of p[i] * x[i*ldx+c]. x holds len(p)
// rows of len(dst) elements. It is the inner step of a convolution of few channels to many.
func AddWeighted(dst, p, x []float32, ldx int) {
	n, rows := len(dst), len(p)
	if n == 0 || rows == 0 {
		return
	}
	if rows > 1 && ldx < n || len(x) < (rows-1)*ldx+n {
		panic(fmt.Sprintf("kernels: AddWeighted: %d rows of %d: %d elements at stride %d", rows, n, len(x), ldx))
	}
	for c := 0; c < n; c += maxElems / 8 {
		addRows(dst[c:min(c+maxElems/8, n)], p, x[c:], ldx)
	}
}
