//go:build amd64 && !noasm

package kernels

// packPanelAVX2 transposes src, 16 rows ld bytes apart of 8*blocks columns, to dst, [8*blocks][16]. blocks > 0.
//
//go:noescape
func packPanelAVX2(dst, src *float32, ld, blocks int)

// packPanel transposes the columns in blocks of eight and leaves the rest, and a panel that is not full, to plain Go.
func packPanel(dst, src []float32, lds, cols, k int) {
	const maxBlocks = maxElems / 128
	i := 0
	if useAVX2 && cols == panelCols {
		for k-i >= 8 {
			blocks := min(maxBlocks, (k-i)/8)
			packPanelAVX2(&dst[i*panelCols], &src[i], 4*lds, blocks)
			i += 8 * blocks
		}
	}
	if i < k {
		packPanelGeneric(dst[i*panelCols:], src[i:], lds, cols, k-i)
	}
}
