//go:build amd64 && !noasm

package kernels

// The tiles below are tileI8Generic's, the one of AVX-512 whole, those of AVX2 registers for at most six rows and one panel, or half a
// panel with 16-bit activations.

//go:noescape
func tileI8AVX512VNNI(t *tileI8)

//go:noescape
func tileI8AVXVNNI(t *tileI8)

//go:noescape
func tileI8AVX2(t *tileI8)

//go:noescape
func tileI16AVX2(t *tileI8)

// saturates says whether pairs of products of coarse rows must fit in 16 bits.
func saturates() bool { return useAVX2 && !hasVNNI() }

// hasVNNI says whether bytes are multiplied in fours, and so fine rows kept as bytes.
func hasVNNI() bool { return useVNNI || useVNNI512 }

func (t *tileI8) run() {
	switch {
	case useVNNI512:
		tileI8AVX512VNNI(t)
	case useVNNI:
		t.inParts(panelCols, tileI8AVXVNNI)
	case useAVX2 && t.wide != nil:
		t.inParts(panelCols/2, tileI16AVX2)
	case useAVX2:
		t.inParts(panelCols, tileI8AVX2)
	default:
		t.runGeneric()
	}
}

// inParts runs a tile of six rows and cols columns as often as it takes.
func (t *tileI8) inParts(cols int, tile func(*tileI8)) {
	const rows = StripRows / 2
	for row := 0; row < t.rows; row += rows {
		for col := 0; col < tileCols; col += cols {
			p := t.part(row, col)
			p.rows = min(p.rows, rows)
			tile(&p)
		}
	}
}
