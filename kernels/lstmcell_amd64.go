//go:build amd64 && !noasm

package kernels

// The kernels below are lstmCellGeneric for count elements, count > 0, with gates ld bytes apart.

//go:noescape
func lstmCellAVX2(h, c, gates *float32, ld, count int)

//go:noescape
func lstmCellAVX512(h, c, gates *float32, ld, count int)

func lstmCell(h, c, gates []float32, n int) {
	switch {
	case useAVX512:
		lstmCellAVX512(&h[0], &c[0], &gates[0], 4*n, len(h))
	case useAVX2:
		lstmCellAVX2(&h[0], &c[0], &gates[0], 4*n, len(h))
	default:
		lstmCellGeneric(h, c, gates, n)
	}
}
