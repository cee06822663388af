//go:build amd64 && !noasm

package kernels

// The kernels below are those of activation_generic.go for n elements, n > 0. See GELU for their accuracy.

//go:noescape
func geluAVX2(x *float32, n int)

//go:noescape
func geluAVX512(x *float32, n int)

//go:noescape
func reluAVX2(x *float32, n int)

//go:noescape
func reluAVX512(x *float32, n int)

//go:noescape
func siluAVX2(x *float32, n int)

//go:noescape
func siluAVX512(x *float32, n int)

func gelu(x []float32) {
	switch {
	case len(x) == 0:
	case useAVX512:
		geluAVX512(&x[0], len(x))
	case useAVX2:
		geluAVX2(&x[0], len(x))
	default:
		geluGeneric(x)
	}
}

func relu(x []float32) {
	switch {
	case len(x) == 0:
	case useAVX512:
		reluAVX512(&x[0], len(x))
	case useAVX2:
		reluAVX2(&x[0], len(x))
	default:
		reluGeneric(x)
	}
}

func silu(x []float32) {
	switch {
	case len(x) == 0:
	case useAVX512:
		siluAVX512(&x[0], len(x))
	case useAVX2:
		siluAVX2(&x[0], len(x))
	default:
		siluGeneric(x)
	}
}
