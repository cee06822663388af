package kernels

import "unsafe"

// cacheLine is the alignment of packed data: one cache line and one AVX-512 register.
const cacheLine = 64

// alignedFloats returns n zeroed floats that begin on a cache line, which make does not promise, and lie on huge pages if there are
// enough of them and the system has such pages.
func alignedFloats(n int) []float32 {
	const line = cacheLine / 4
	if n == 0 {
		return nil
	}
	b := make([]float32, n+line)
	_ = adviseHuge(b)
	skip := misalignment(b, cacheLine)
	return b[skip : skip+n : skip+n]
}

// misalignment returns how many elements lie before the first whose address is a multiple of align bytes.
func misalignment(x []float32, align uintptr) int {
	return int(-uintptr(unsafe.Pointer(unsafe.SliceData(x)))%align) / 4
}

// roundUp returns the smallest multiple of m that is not below n.
func roundUp(n, m int) int { return (n + m - 1) / m * m }
