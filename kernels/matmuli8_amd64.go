//go:build amd64 && !noasm

package kernels

// The tiles below are tileI8Generic's. That of AVX-512 registers is 32 columns wide, that of AVX2 registers 16 and of
// at most six rows.

//go:noescape
func tileI8AVX512VNNI(t *tileI8)

//go:noescape
func tileI8AVXVNNI(t *tileI8)

// listRows is how many rows share a list of high bytes: the fewest whose sums, in two registers each, hide how long
// VPDPBUSD takes.
const listRows = StripRows / 2

// hasVNNI says whether bytes are multiplied in fours, and so fine rows kept as bytes.
func hasVNNI() bool { return useVNNI || useVNNI512 }

func (t *tileI8) run() {
	switch {
	case useVNNI512:
		tileI8AVX512VNNI(t)
	case useVNNI:
		t.runHalves()
	case useAVX2:
		h := *t
		h.tiles *= tileCols / panelCols
		tileSevens(&h)
	default:
		t.runGeneric()
	}
}

// runHalves runs tiles of AVX2 registers, six rows at a time.
func (t *tileI8) runHalves() {
	h := *t
	for row := 0; row < t.rows; row += listRows {
		h.rows, h.tiles = min(listRows, t.rows-row), t.tiles*tileCols/panelCols
		h.lo, h.corr, h.rowScale = t.lo[row*t.lda:], t.corr[row:], t.rowScale[row:]
		if t.counts != nil {
			list := row / listRows
			h.list, h.high, h.counts = t.list[list*t.groups:], t.high[list*t.groups*listRows*groupK:], t.counts[list:]
		}
		h.b, h.c, h.colScale, h.bias = t.b, t.c[row*t.ldc:], t.colScale, t.bias
		tileI8AVXVNNI(&h)
	}
}
