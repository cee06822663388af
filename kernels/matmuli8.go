package kernels

import "fmt"

// MatMulI8 is [MatMul] by integers: dst[i-i0][n] = act(sum over k of x[i][k]*w[n][k] + bias[n]) + residual[i-i0][n] for
// the rows [i0, i0+m) of x and n in [n0, n1). The sums are exact, so that tiers and the cut in blocks don't show in
// them; a sum of fine numbers leaves 32 bits at no K below 600000. x and w must both be fine or both not. i0 is a
// multiple of [StripRows], n0 of [NBlock].
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
		for r := range min(blockRows, m-i) {
			s.corr[r] = x.correction(i0+i+r, w)
		}
		// Weights that all strips meet before the next ones come stay in the second-level cache.
		step := min(blockCols, max(1, nearBytes/(tileCols*w.kp))*tileCols)
		for n := n0; n < n1; n += step {
			cols := min(step, n1-n)
			clear(s.bias)
			if ep.Bias != nil {
				copy(s.bias, ep.Bias[n:n+cols])
			}
			for r := i; r < min(i+blockRows, m); r += StripRows {
				s.stripI8(dst[r*ldd:], ldd, x, i0, r, min(StripRows, m-r), s.corr[r-i:], w, n, cols, ep)
			}
		}
	}
}

// stripI8 computes rows rows from row r of the call on, the columns [n,n+cols). Where it can it does so in dst itself.
func (s *matmulScratch) stripI8(dst []float32, ldd int, x *Quantised, i0, r, rows int, corr []int32, w *PackedI8, n, cols int, ep Epilogue) {
	t := tileI8{rows: rows, tiles: (cols + tileCols - 1) / tileCols, c: s.sum, ldc: blockCols, corr: corr, bias: s.bias}
	t.take(x, i0+r, w, n)
	if ep.Residual == nil && cols%tileCols == 0 {
		t.c, t.ldc = dst[n:], ldd
		t.run()
		for i := range rows {
			activate(ep.Act, dst[i*ldd+n:][:cols])
		}
		return
	}
	t.run()
	s.store(dst, ldd, r, rows, n, cols, ep)
}

// nearBytes is how much of the weights is near at once.
const nearBytes = 128 << 10

// tileI8 is a strip times tiles times 32 columns, as runGeneric says. An assembly kernel moves b, c, colScale and bias.
type tileI8 struct {
	rows, groups, tiles int // groups counts fours of k, a multiple of four

	lo     []int8  // [rows][lda], or nil
	wide   []int16 // [rows][lda], or nil
	lda    int
	list   []uint32 // [lists][groups], where groups with high bytes lie in a panel, of listRows rows or with seven bits of one each; or nil
	high   []int8   // [lists][groups][listRows or 1][4]
	counts []int    // [lists], how many of list and high count; or nil

	blocks []uint32 // [rows][groups/2], where a run of seven-bit rows isn't all zeros, see listBlocks, at its first row; or nil
	filled []int    // [rows], how many blocks count

	b     []uint8 // panels, ldb apart
	ldb   int
	ahead int // elements of b from here to what is read next, a hint

	c        []float32 // [rows][ldc]
	ldc      int
	corr     []int32 // of each row: what the weights' offset added to its sums, or with seven bits its zero, to be taken away times colSum
	rowScale []float32
	colScale []float32
	colSum   []int32
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
	if w.sums != nil {
		t.colSum = w.sums[n:]
	}
	if x.listed() {
		t.list, t.high, t.counts = x.lists.from(i)
	}
}
