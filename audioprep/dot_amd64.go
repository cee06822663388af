//go:build amd64 && !noasm

package audioprep

import "golang.org/x/sys/cpu"

var useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// dotAVX2 is dotGeneric with the products added up in another order. n is a
// multiple of eight.
//
//go:noescape
func dotAVX2(x, h *float32, n int) float32

func dot(x, h []float32) float32 {
	if useAVX2 && len(x) > 0 {
		h = h[:len(x)]
		return dotAVX2(&x[0], &h[0], len(x)&^7)
	}
	return dotGeneric(x, h)
}
