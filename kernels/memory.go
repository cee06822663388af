package kernels

import "unsafe"

// cacheLine is the alignment of packed data: one cache line and one AVX-512 register.
const cacheLine = 64

// alignedFloats returns n zeroed floats as alignedSlice does.
func alignedFloats(n int) []float32 { return alignedSlice[float32](n) }

// alignedSlice returns n zeroed elements that begin on a cache line, which make does not promise, and lie on huge pages
// if there are enough of them and the system has such pages.
func alignedSlice[T float32 | uint32 | int32 | uint16 | int16 | int8 | uint8](n int) []T {
	if n == 0 {
		return nil
	}
	var t T
	size := int(unsafe.Sizeof(t))
	b := make([]T, n+cacheLine/size)
	_ = adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(&b[0])), size*len(b)))
	skip := misalignment(unsafe.Pointer(&b[0]), cacheLine) / size
	return b[skip : skip+n : skip+n]
}

// misalignment returns how many bytes lie between p and the first address from it on that is a multiple of align.
func misalignment(p unsafe.Pointer, align uintptr) int { return int(-uintptr(p) % align) }

// resize returns x with n elements, in new memory if x has too little. The contents are undefined.
func resize[T float32 | uint32 | int32 | uint16 | int16 | int8 | uint8](x []T, n int) []T {
	if cap(x) >= n {
		return x[:n]
	}
	return alignedSlice[T](n)
}

// roundUp returns the smallest multiple of m that is not below n.
func roundUp(n, m int) int { return (n + m - 1) / m * m }
