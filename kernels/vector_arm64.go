//go:build arm64 && !noasm

package kernels

// The kernels below are those of vector_generic.go for n elements, a multiple of four; axpy and dot by fused
// multiply-adds, dot in 16 partial sums.

//go:noescape
func addNEON(dst, x, y *float32, n int)

//go:noescape
func scaleNEON(x *float32, n int, s float32)

//go:noescape
func axpyNEON(dst, x *float32, n int, s float32)

//go:noescape
func dotNEON(x, y *float32, n int) (sum float32)

//go:noescape
func addSquaresNEON(dst, x, y *float32, n int)

//go:noescape
func raiseNEON(x *float32, n int, least, scale, shift float32)

func add(dst, a, b []float32) {
	if !useNEON {
		addGeneric(dst, a, b)
		return
	}
	pairwise(dst, a, b, addNEON)
}

func addSquares(dst, a, b []float32) {
	if !useNEON {
		addSquaresGeneric(dst, a, b)
		return
	}
	pairwise(dst, a, b, addSquaresNEON)
}

func scale(x []float32, s float32) {
	if !useNEON {
		scaleGeneric(x, s)
		return
	}
	inPlace(x, func(x *float32, n int) { scaleNEON(x, n, s) })
}

func raise(x []float32, least, scale, shift float32) {
	if !useNEON {
		raiseGeneric(x, least, scale, shift)
		return
	}
	inPlace(x, func(x *float32, n int) { raiseNEON(x, n, least, scale, shift) })
}

func axpy(dst []float32, a float32, x []float32) {
	if !useNEON {
		axpyGeneric(dst, a, x)
		return
	}
	pairwise(dst, dst, x, func(dst, _, x *float32, n int) { axpyNEON(dst, x, n, a) })
}

func dot(a, b []float32) (sum float32) {
	if !useNEON {
		return dotGeneric(a, b)
	}
	n := whole(len(a))
	if n > 0 {
		sum = dotNEON(&a[0], &b[0], n)
	}
	if n < len(a) {
		x, y := padded(a[n:], 0), padded(b[n:len(a)], 0)
		sum += dotNEON(&x[0], &y[0], len(x))
	}
	return sum
}
