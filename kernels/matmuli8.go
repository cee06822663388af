package kernels

import "fmt"

// MatMulI8 is [MatMul] by integers: dst[i-i0][n] = act(sum over k of x[i][k]*w[n][k] + bias[n]) + residual[i-i0][n] for the rows
// [i0, i0+m) of x and n in [n0, n1). The sums are exact, so that tiers and the cut in blocks don't show in them; a sum of fine
// numbers leaves 32 bits at no K below 600000. x and w must both be fine or both not. i0 is a multiple of [StripRows], n0 of [NBlock].
func MatMulI8(dst []float32, ldd int, x *Quantised, i0, m int, w *PackedI8, n0, n1 int, ep Epilogue) {
	switch {
	case x.fine != w.fine || x.k != w.K:
		panic(fmt.Sprintf("kernels: MatMulI8: rows of %d (fine: %v), weights of %d (fine: %v)", x.k, x.fine, w.K, w.fine))
	case i0 < 0 || i0%StripRows != 0 || i0+m > x.m:
		panic(fmt.Sprintf("kernels: MatMulI8: %d rows from row %d of %d", m, i0, x.m))
	}
	checkOutput("MatMulI8", dst, ldd, m, w.N, n0, n1, ep)
	if m == 0 || n0 == n1 {
		return
	}
	s := matmulScratches.Get().(*matmulScratch)
	defer matmulScratches.Put(s)
	for i := 0; i < m; i += blockRows {
		rows := min(blockRows, m-i)
		for n := n0; n < n1; n += blockCols {
			cols := min(blockCols, n1-n)
			s.blockI8(x, i0+i, rows, w, n, cols, ep.Bias)
			s.store(dst[i*ldd:], ldd, i, rows, n, cols, ep)
		}
	}
}

// blockI8 leaves bias + x*w for rows rows from row i on and the columns [n,n+cols) in s.sum.
func (s *matmulScratch) blockI8(x *Quantised, i, rows int, w *PackedI8, n, cols int, bias []float32) {
	clear(s.bias)
	if bias != nil {
		copy(s.bias, bias[n:n+cols])
	}
	for r := range rows {
		s.corr[r] = w.offset * x.sum[i+r]
	}
	for j := 0; j < cols; j += tileCols {
		t := tileI8{
			groups: x.kp / groupK, lda: x.kp, b: w.panels[(n+j)*w.kp:], ldb: w.kp * panelCols,
			ldc: blockCols, colScale: w.scale[n+j:], bias: s.bias[j:],
		}
		if n+j+tileCols < w.N {
			t.ahead = tileCols * w.kp
		}
		for r := 0; r < rows; r += StripRows {
			t.rows, t.corr, t.rowScale, t.c = min(StripRows, rows-r), s.corr[r:], x.scale[i+r:], s.sum[r*blockCols+j:]
			t.activations(x, i+r)
			t.run()
		}
	}
}

// tileI8 is a strip times 32 columns, as tileI8Generic says.
type tileI8 struct {
	rows, groups int // groups counts fours of k, a multiple of four

	lo   []int8  // [rows][lda], or nil
	wide []int16 // [rows][lda], or nil
	lda  int
	list []uint32 // where groups with high bytes lie in a panel
	high []int8   // [len(list)][StripRows][4]

	b   []uint8 // two panels, ldb apart
	ldb int

	c        []float32 // [rows][ldc]
	ldc      int
	corr     []int32 // of each row: what the weights' offset added to its sums
	rowScale []float32
	colScale []float32
	bias     []float32

	ahead int // elements of b from here to where the caller will read next, a hint
}

// activations takes the strip that begins at row i of x.
func (t *tileI8) activations(x *Quantised, i int) {
	if x.wideRows() {
		t.wide = x.wide[i*x.kp:]
		return
	}
	t.lo = x.lo[i*x.kp:]
	if x.fine {
		strip := i / StripRows
		t.list = x.list[strip*x.kp/groupK:][:x.count[strip]]
		t.high = x.high[strip*x.kp*StripRows:]
	}
}

// part is the tile without its first rows and columns, which are whole halves of a panel.
func (t tileI8) part(row, col int) tileI8 {
	t.rows -= row
	t.c, t.corr, t.rowScale = t.c[row*t.ldc+col:], t.corr[row:], t.rowScale[row:]
	t.colScale, t.bias = t.colScale[col:], t.bias[col:]
	t.b = t.b[col/panelCols*t.ldb+col%panelCols*groupK:]
	if t.wide != nil {
		t.wide = t.wide[row*t.lda:]
	} else {
		t.lo = t.lo[row*t.lda:]
	}
	if len(t.list) > 0 {
		t.high = t.high[row*groupK:]
	}
	return t
}
