//go:build arm64 && !noasm

package kernels

// dotTileNEON is tileI8Generic's sum for up to four rows of bytes and one panel; listed groups have high bytes. c's
// stride is in bytes. It takes the weights' offset away itself.
//
//go:noescape
func dotTileNEON(rows, groups int, lo *int8, lda int, b *uint8, list *uint32, listed int, high *int8, c *float32, ldc int, rowScale, colScale, bias *float32)

// wideTileNEON is the same for one row of 16-bit numbers.
//
//go:noescape
func wideTileNEON(groups int, wide *int16, b *uint8, c, rowScale, colScale, bias *float32)

// listRows is how many rows share a list of high bytes: those of a tile.
const listRows = 4

// hasVNNI says whether bytes are multiplied in fours, and so fine rows kept as bytes.
func hasVNNI() bool { return useDot }

func (t *tileI8) run() {
	switch {
	case useDot && t.wide == nil:
		t.eachPanel(t.dotPanel)
	case useNEON && t.wide != nil:
		t.eachPanel(t.widePanel)
	default:
		t.runGeneric()
	}
}

// eachPanel visits panel after panel, of which the weights are read for all rows while they are near.
func (t *tileI8) eachPanel(run func(panel int)) {
	for p := range t.tiles * tileCols / panelCols {
		run(p)
	}
}

func (t *tileI8) dotPanel(p int) {
	b, col := &t.b[p*t.ldb], p*panelCols
	for r := 0; r < t.rows; r += listRows {
		var list *uint32
		var high *int8
		listed := 0
		if t.counts != nil {
			at := r / listRows
			list, high, listed = &t.list[at*t.groups], &t.high[r*t.groups*groupK], t.counts[at]
		}
		dotTileNEON(min(listRows, t.rows-r), t.groups, &t.lo[r*t.lda], t.lda, b, list, listed, high,
			&t.c[r*t.ldc+col], 4*t.ldc, &t.rowScale[r], &t.colScale[col], &t.bias[col])
	}
}

func (t *tileI8) widePanel(p int) {
	col := p * panelCols
	for r := range t.rows {
		wideTileNEON(t.groups, &t.wide[r*t.lda], &t.b[p*t.ldb], &t.c[r*t.ldc+col], &t.rowScale[r], &t.colScale[col], &t.bias[col])
	}
}
