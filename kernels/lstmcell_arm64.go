//go:build arm64 && !noasm

package kernels

// lstmCellNEON is lstmCellGeneric for count elements, count > 0 and a multiple of four, with gates ld bytes apart.
//
//go:noescape
func lstmCellNEON(h, c, gates *float32, ld, count int)

func lstmCell(h, c, gates []float32, n int) {
	if !useNEON {
		lstmCellGeneric(h, c, gates, n)
		return
	}
	most := whole(len(h))
	if most > 0 {
		lstmCellNEON(&h[0], &c[0], &gates[0], 4*n, most)
	}
	if left := len(h) - most; left > 0 {
		var four [4]vector
		for g := range four {
			copy(four[g][:], gates[g*n+most:][:left])
		}
		state, out := padded(c[most:], 0), vector{}
		lstmCellNEON(&out[0], &state[0], &four[0][0], 4*len(out), len(out))
		copy(c[most:], state[:])
		copy(h[most:], out[:])
	}
}
