//go:build arm64 && !noasm

package kernels

// NEON's loads and stores have no masks, so the kernels take whole vectors only. What is left of a slice goes through
// them too, in a vector of its own, so that an element's bits don't depend on where it stands.

// vector is one register.
type vector [4]float32

// whole is how many of n elements lie in whole vectors.
func whole(n int) int { return n &^ 3 }

// padded is the last elements of x, which don't fill a vector.
func padded(x []float32, pad float32) *vector {
	v := vector{pad, pad, pad, pad}
	copy(v[:], x)
	return &v
}

// inPlace runs a kernel that replaces each element.
func inPlace(x []float32, kernel func(x *float32, n int)) {
	n := whole(len(x))
	if n > 0 {
		kernel(&x[0], n)
	}
	if n < len(x) {
		v := padded(x[n:], 1)
		kernel(&v[0], len(v))
		copy(x[n:], v[:])
	}
}

// pairwise runs a kernel that makes an element of two.
func pairwise(dst, x, y []float32, kernel func(dst, x, y *float32, n int)) {
	n := whole(len(dst))
	if n > 0 {
		kernel(&dst[0], &x[0], &y[0], n)
	}
	if n < len(dst) {
		a, b := padded(x[n:len(dst)], 0), padded(y[n:len(dst)], 0)
		kernel(&a[0], &a[0], &b[0], len(a))
		copy(dst[n:], a[:])
	}
}
