//go:build amd64 && !noasm

package kernels

// The kernels below are those of attentionrow_generic.go for rows rows of n elements, both > 0, with the stride in
// bytes.

//go:noescape
func dotRowsAVX2(dst, q, x *float32, ldx, rows, n int)

//go:noescape
func dotRowsAVX512(dst, q, x *float32, ldx, rows, n int)

//go:noescape
func addRowsAVX2(dst, p, x *float32, ldx, rows, n int)

//go:noescape
func addRowsAVX512(dst, p, x *float32, ldx, rows, n int)

func dotRows(dst, q, x []float32, ldx int) {
	switch {
	case useAVX512:
		dotRowsAVX512(&dst[0], &q[0], &x[0], 4*ldx, len(dst), len(q))
	case useAVX2:
		dotRowsAVX2(&dst[0], &q[0], &x[0], 4*ldx, len(dst), len(q))
	default:
		dotRowsGeneric(dst, q, x, ldx)
	}
}

func addRows(dst, p, x []float32, ldx int) {
	switch {
	case useAVX512:
		addRowsAVX512(&dst[0], &p[0], &x[0], 4*ldx, len(p), len(dst))
	case useAVX2:
		addRowsAVX2(&dst[0], &p[0], &x[0], 4*ldx, len(p), len(dst))
	default:
		addRowsGeneric(dst, p, x, ldx)
	}
}
