//go:build amd64 && !noasm

package kernels

// The kernels below are gateGeneric for n elements, n > 0.

//go:noescape
func gateAVX2(dst, x, gate *float32, n int)

//go:noescape
func gateAVX512(dst, x, gate *float32, n int)

func gateBy(dst, x, gate []float32) {
	switch {
	case useAVX512:
		gateAVX512(&dst[0], &x[0], &gate[0], len(dst))
	case useAVX2:
		gateAVX2(&dst[0], &x[0], &gate[0], len(dst))
	default:
		gateGeneric(dst, x, gate)
	}
}
