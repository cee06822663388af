package kernels

import "fmt"

// Depthwise adds to each channel its own weighted sum of taps rows: dst[c] += sum over ascending i of x[i*ldx+c] * w[i*ldw+c]. It is the
// inner step of a convolution that keeps channels apart, over channel-minor data. x and w hold taps rows of len(dst) elements.
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
