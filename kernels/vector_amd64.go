//go:build amd64 && !noasm

package kernels

// The kernels below are those of vector_generic.go for n elements; axpy and dot by fused multiply-adds, dot in 32 or 64
// partial sums.

//go:noescape
func addAVX2(dst, x, y *float32, n int)

//go:noescape
func addAVX512(dst, x, y *float32, n int)

//go:noescape
func scaleAVX2(x *float32, n int, s float32)

//go:noescape
func scaleAVX512(x *float32, n int, s float32)

//go:noescape
func axpyAVX2(dst, x *float32, n int, s float32)

//go:noescape
func axpyAVX512(dst, x *float32, n int, s float32)

//go:noescape
func dotAVX2(x, y *float32, n int) (sum float32)

//go:noescape
func dotAVX512(x, y *float32, n int) (sum float32)

//go:noescape
func addSquaresAVX2(dst, x, y *float32, n int)

//go:noescape
func addSquaresAVX512(dst, x, y *float32, n int)

//go:noescape
func raiseAVX2(x *float32, n int, least, scale, shift float32)

//go:noescape
func raiseAVX512(x *float32, n int, least, scale, shift float32)

func add(dst, a, b []float32) {
	switch {
	case len(dst) == 0:
	case useAVX512:
		addAVX512(&dst[0], &a[0], &b[0], len(dst))
	case useAVX2:
		addAVX2(&dst[0], &a[0], &b[0], len(dst))
	default:
		addGeneric(dst, a, b)
	}
}

func scale(x []float32, s float32) {
	switch {
	case len(x) == 0:
	case useAVX512:
		scaleAVX512(&x[0], len(x), s)
	case useAVX2:
		scaleAVX2(&x[0], len(x), s)
	default:
		scaleGeneric(x, s)
	}
}

func axpy(dst []float32, a float32, x []float32) {
	switch {
	case len(x) == 0:
	case useAVX512:
		axpyAVX512(&dst[0], &x[0], len(dst), a)
	case useAVX2:
		axpyAVX2(&dst[0], &x[0], len(dst), a)
	default:
		axpyGeneric(dst, a, x)
	}
}

func dot(a, b []float32) float32 {
	switch {
	case len(a) == 0:
		return 0
	case useAVX512:
		return dotAVX512(&a[0], &b[0], len(a))
	case useAVX2:
		return dotAVX2(&a[0], &b[0], len(a))
	}
	return dotGeneric(a, b)
}

func addSquares(dst, a, b []float32) {
	switch {
	case len(dst) == 0:
	case useAVX512:
		addSquaresAVX512(&dst[0], &a[0], &b[0], len(dst))
	case useAVX2:
		addSquaresAVX2(&dst[0], &a[0], &b[0], len(dst))
	default:
		addSquaresGeneric(dst, a, b)
	}
}

func raise(x []float32, least, scale, shift float32) {
	switch {
	case len(x) == 0:
	case useAVX512:
		raiseAVX512(&x[0], len(x), least, scale, shift)
	case useAVX2:
		raiseAVX2(&x[0], len(x), least, scale, shift)
	default:
		raiseGeneric(x, least, scale, shift)
	}
}
