package kernels

import "fmt"

// Add sets dst[i] = a[i] + b[i]. All three have one length; dst may be a or b.
func Add(dst, a, b []float32) {
	sameLen("Add", len(dst), len(a))
	sameLen("Add", len(dst), len(b))
	for i := 0; i < len(dst); i += maxElems {
		e := min(i+maxElems, len(dst))
		add(dst[i:e], a[i:e], b[i:e])
	}
}

// Scale sets x[i] *= s.
func Scale(x []float32, s float32) {
	for i := 0; i < len(x); i += maxElems {
		scale(x[i:min(i+maxElems, len(x))], s)
	}
}

// Axpy sets dst[i] += a * x[i]. Both have one length.
func Axpy(dst []float32, a float32, x []float32) {
	sameLen("Axpy", len(dst), len(x))
	for i := 0; i < len(dst); i += maxElems {
		e := min(i+maxElems, len(dst))
		axpy(dst[i:e], a, x[i:e])
	}
}

// Dot returns the sum of a[i]*b[i], 0 for empty slices. Both have one length.
func Dot(a, b []float32) float32 {
	sameLen("Dot", len(a), len(b))
	var s float32
	for i := 0; i < len(a); i += maxElems {
		e := min(i+maxElems, len(a))
		s += dot(a[i:e], b[i:e])
	}
	return s
}

// AddSquares sets dst[i] = a[i]² + b[i]². All three have one length; dst may be a or b.
func AddSquares(dst, a, b []float32) {
	sameLen("AddSquares", len(dst), len(a))
	sameLen("AddSquares", len(dst), len(b))
	for i := 0; i < len(dst); i += maxElems {
		e := min(i+maxElems, len(dst))
		addSquares(dst[i:e], a[i:e], b[i:e])
	}
}

// Raise sets x[i] = max(x[i], least)*scale + shift.
func Raise(x []float32, least, scale, shift float32) {
	for i := 0; i < len(x); i += maxElems {
		raise(x[i:min(i+maxElems, len(x))], least, scale, shift)
	}
}

func sameLen(op string, a, b int) {
	if a != b {
		panic(fmt.Sprintf("kernels: %s: lengths %d and %d", op, a, b))
	}
}
