//go:build arm64 && !noasm

package kernels

// The kernels below are those of attentionrow_generic.go for rows rows of n elements, both > 0 and n a multiple of
// four, with the stride in bytes.

//go:noescape
func dotRowsNEON(dst, q, x *float32, ldx, rows, n int)

//go:noescape
func addRowsNEON(dst, p, x *float32, ldx, rows, n int)

func dotRows(dst, q, x []float32, ldx int) {
	switch {
	case !useNEON:
		dotRowsGeneric(dst, q, x, ldx)
	case len(q)%len(vector{}) != 0:
		for i := range dst {
			dst[i] = dot(q, x[i*ldx:][:len(q)])
		}
	default:
		dotRowsNEON(&dst[0], &q[0], &x[0], 4*ldx, len(dst), len(q))
	}
}

func addRows(dst, p, x []float32, ldx int) {
	if !useNEON {
		addRowsGeneric(dst, p, x, ldx)
		return
	}
	n := whole(len(dst))
	if n > 0 {
		addRowsNEON(&dst[0], &p[0], &x[0], 4*ldx, len(p), n)
	}
	if n < len(dst) {
		v := padded(dst[n:], 0)
		for i := range p {
			row := padded(x[i*ldx+n:][:len(dst)-n], 0)
			addRowsNEON(&v[0], &p[i], &row[0], 0, 1, len(v))
		}
		copy(dst[n:], v[:])
	}
}
