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
	// Weights that all strips meet before the next ones come stay in the second-level cache.
	step := max(1, nearBytes/(tileCols*w.kp)) * tileCols
	for j := 0; j < cols; j += step {
		for r := 0; r < rows; r += StripRows {
			t := tileI8{
				rows: min(StripRows, rows-r), tiles: (min(step, cols-j) + tileCols - 1) / tileCols,
				c: s.sum[r*blockCols+j:], ldc: blockCols, corr: s.corr[r:], bias: s.bias[j:],
			}
			t.take(x, i+r, w, n+j)
			t.run()
		}
	}
}

// nearBytes is how much of the weights is near at once.
const nearBytes = 128 << 10

// tileI8 is a strip times tiles times 32 columns, as runGeneric says. An assembly kernel moves b, c, colScale and bias.
type tileI8 struct {
	rows, groups, tiles int // groups counts fours of k, a multiple of four

	lo   []int8  // [rows][lda], or nil
	wide []int16 // [rows][lda], or nil
	lda  int
	list []uint32 // where groups with high bytes lie in a panel
	high []int8   // [len(list)][StripRows][4]

	b     []uint8 // panels, ldb apart
	ldb   int
	ahead int // elements of b from here to what is read next, a hint

	c        []float32 // [rows][ldc]
	ldc      int
	corr     []int32 // of each row: what the weights' offset added to its sums
	rowScale []float32
	colScale []float32
	bias     []float32
}

// take sets the factors: the strip that begins at row i of x, and the weights from column n on.
func (t *tileI8) take(x *Quantised, i int, w *PackedI8, n int) {
	t.groups, t.lda, t.rowScale = x.kp/groupK, x.kp, x.scale[i:]
	t.b, t.ldb, t.ahead, t.colScale = w.panels[n*w.kp:], panelCols*w.kp, tileCols*w.kp, w.scale[n:]
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
