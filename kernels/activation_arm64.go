//go:build arm64 && !noasm

package kernels

// The kernels below are those of activation_generic.go for n elements, a multiple of four. See GELU for their accuracy.

//go:noescape
func geluNEON(x *float32, n int)

//go:noescape
func reluNEON(x *float32, n int)

//go:noescape
func siluNEON(x *float32, n int)

func gelu(x []float32) {
	if !useNEON {
		geluGeneric(x)
		return
	}
	inPlace(x, geluNEON)
}

func relu(x []float32) {
	if !useNEON {
		reluGeneric(x)
		return
	}
	inPlace(x, reluNEON)
}

func silu(x []float32) {
	if !useNEON {
		siluGeneric(x)
		return
	}
	inPlace(x, siluNEON)
}
