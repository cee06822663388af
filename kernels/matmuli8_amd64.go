//go:build amd64 && !noasm

package kernels

// The tiles below are tileI8Generic's. Those of AVX-512 registers are 32 columns wide, those of AVX2 registers 16 and of at most six
// rows, and with 16-bit activations half as wide.

//go:noescape
func tileI8AVX512VNNI(t *tileI8)

//go:noescape
func tileI8AVXVNNI(t *tileI8)

//go:noescape
func tileI8AVX2(t *tileI8)

//go:noescape
func tileI16AVX2(t *tileI8)

//go:noescape
func tileI16AVX512(t *tileI8)

// saturates says whether pairs of products of coarse rows must fit in 16 bits.
func saturates() bool { return useAVX2 && !hasVNNI() }

// hasVNNI says whether bytes are multiplied in fours, and so fine rows kept as bytes.
func hasVNNI() bool { return useVNNI || useVNNI512 }

func (t *tileI8) run() {
	switch {
	case useVNNI512:
		tileI8AVX512VNNI(t)
	case useAVX512 && t.wide != nil:
		h := *t
		h.tiles *= tileCols / panelCols
		tileI16AVX512(&h)
	case useAVX2:
		t.runHalves()
	default:
		t.runGeneric()
	}
}

// runHalves runs tiles of AVX2 registers, six rows at a time.
func (t *tileI8) runHalves() {
	const rows = StripRows / 2
	panels, h := t.tiles*tileCols/panelCols, *t
	for row := 0; row < t.rows; row += rows {
		h.rows = min(rows, t.rows-row)
		h.corr, h.rowScale = t.corr[row:], t.rowScale[row:]
		if t.wide != nil {
			h.wide = t.wide[row*t.lda:]
			t.runPanels(&h, row, panels)
			continue
		}
		h.lo = t.lo[row*t.lda:]
		if len(t.list) > 0 {
			h.high = t.high[row*groupK:]
		}
		h.tiles, h.b, h.c, h.colScale, h.bias = panels, t.b, t.c[row*t.ldc:], t.colScale, t.bias
		if useVNNI {
			tileI8AVXVNNI(&h)
		} else {
			tileI8AVX2(&h)
		}
	}
}

// runPanels runs the tiles of half a panel.
func (t *tileI8) runPanels(h *tileI8, row, panels int) {
	const half = panelCols / 2
	for col := 0; col < panels*panelCols; col += half {
		h.tiles, h.b = 1, t.b[col/panelCols*t.ldb+col%panelCols*groupK:]
		h.c, h.colScale, h.bias = t.c[row*t.ldc+col:], t.colScale[col:], t.bias[col:]
		tileI16AVX2(h)
	}
}
