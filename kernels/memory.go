package kernels

import "unsafe"

// cacheLine is the alignment of packed data: one cache line and one AVX-512 register.
const cacheLine = 64

// alignedFloats returns n zeroed floats that begin on a cache line, which make does not promise.
func alignedFloats(n int) []float32 {
	const line = cacheLine / 4
	if n == 0 {
		return nil
	}
	b := make([]float32, n+line)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b)))%cacheLine) / 4
	return b[skip : skip+n : skip+n]
}

// roundUp returns the smallest multiple of m that is not below n.
func roundUp(n, m int) int { return (n + m - 1) / m * m }
