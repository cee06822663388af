//go:build amd64 && !noasm

package kernels

// The kernels below are logGeneric for n elements, n > 0.

//go:noescape
func logAVX2(x *float32, n int)

//go:noescape
func logAVX512(x *float32, n int)

func logPart(x []float32) {
	switch {
	case useAVX512:
		logAVX512(&x[0], len(x))
	case useAVX2:
		logAVX2(&x[0], len(x))
	default:
		logGeneric(x)
	}
}
