package kernels

import (
	"fmt"
	"sync"
)

const (
	// NBlock is the grain in which callers may split a product's columns: n0 of [MatMul] is a multiple of it.
	NBlock = 64
	// MBlock is the most rows for which [MatMul] reads the weights once. A caller may split rows anywhere; pieces of a
	// multiple of MBlock, or of a little less, waste nothing.
	MBlock = blockRows
)

// Block sizes of MatMul, in elements. A block of x (blockRows x blockK) and a block of sums (blockRows x blockCols)
// share the second-level cache with the panels that pass by; a panel pair (blockK x 32) stays in the first-level cache
// while all rows of the block use it. They don't affect results, since a sum is carried on from one k block to the
// next.
const (
	tileRows  = 12 // of the tallest tile, the AVX-512 one
	blockRows = 16 * tileRows
	blockCols = 256
	blockK    = 256
	// Rows whose stride is a multiple of crowded, a page, all fall on the same cache sets: they are copied, and lie
	// strideX apart then.
	crowded = 1024
	strideX = blockK + 16
	// directRows is the most rows for which k isn't cut finer than directK, to read the panels in one stream, and
	// halves are widened by the tiles.
	directRows = 24
	directK    = 2048
)

// Epilogue is what [MatMul] does to a sum before it stores it: dst = act(sum + bias) + residual.
type Epilogue struct {
	Bias       []float32  // [N], or nil for none
	Act        Activation // ActNone by default
	Residual   []float32  // [m][LdResidual], or nil for none; may be dst itself
	LdResidual int
}

// matmulScratch holds one call's blocks.
type matmulScratch struct {
	x     []float32 // [blockRows][strideX]
	pairs []uint32  // rows of x as bfloat16, where they are multiplied
	sum   []float32 // [blockRows][blockCols]
	pair  []float32 // [2][blockK][panelCols]

	bias []float32 // [blockCols], and
	corr []int32   // [blockRows], of an int8 product
}

var matmulScratches = sync.Pool{New: func() any {
	return &matmulScratch{
		x: alignedFloats(blockRows * strideX), sum: alignedFloats(blockRows * blockCols), pair: alignedFloats(blockK * tileCols),
		bias: alignedFloats(blockCols), corr: make([]int32, blockRows),
	}
}}

// MatMul computes dst[i][n] = act(sum over k of x[i][k]*w[n][k] + bias[n]) + residual[i][n] for i in [0,m) and n in
// [n0,n1), and leaves the other elements of dst alone. dst is [m][ldd], x is [m][ldx], w is [N][K]; columns count from
// 0 in dst, bias and residual whatever n0 is. n0 must be a multiple of [NBlock]. Rows are split by slicing dst, x and
// residual. ldx may be less than K, so that rows overlap: a convolution over time-major input is such a product, each
// row being a window. dst must not overlap x; it may be the residual, in the same place and with the same stride. An
// output's bits depend on its row of x, its row of w and the epilogue alone.
func MatMul(dst []float32, ldd int, x []float32, ldx int, m int, w *PackedF32, n0, n1 int, ep Epilogue) {
	checkMatMul(dst, ldd, x, ldx, m, w, n0, n1, ep)
	if m == 0 || n0 == n1 {
		return
	}
	s := matmulScratches.Get().(*matmulScratch)
	defer matmulScratches.Put(s)
	blocks := (m + blockRows - 1) / blockRows
	step := roundUp((m+blocks-1)/blocks, tileRows) // even blocks: a last one of few rows would read all weights for little
	for i := 0; i < m; i += step {
		rows := min(step, m-i)
		for n := n0; n < n1; n += blockCols {
			cols := min(blockCols, n1-n)
			s.block(x[i*ldx:], ldx, rows, w, n, cols, ep.Bias)
			s.store(dst[i*ldd:], ldd, i, rows, n, cols, ep)
		}
	}
}

func checkMatMul(dst []float32, ldd int, x []float32, ldx int, m int, w *PackedF32, n0, n1 int, ep Epilogue) {
	checkOutput("MatMul", dst, ldd, m, w.N, n0, n1, ep)
	if m > 0 && n0 < n1 && (ldx < 0 || len(x) < (m-1)*ldx+w.K) {
		panic(fmt.Sprintf("kernels: MatMul: x has %d elements, want %d rows of %d at stride %d", len(x), m, w.K, ldx))
	}
}

// checkOutput checks what all products have in common.
func checkOutput(op string, dst []float32, ldd, m, n, n0, n1 int, ep Epilogue) {
	switch {
	case m < 0 || n0 < 0 || n0%NBlock != 0 || n1 < n0 || n1 > n:
		panic(fmt.Sprintf("kernels: %s: %d rows, columns [%d,%d) of %d", op, m, n0, n1, n))
	case m == 0 || n0 == n1:
		return
	case ldd < n1 && m > 1 || len(dst) < (m-1)*ldd+n1:
		panic(fmt.Sprintf("kernels: %s: dst has %d elements, want %d rows of %d at stride %d", op, len(dst), m, n1, ldd))
	case ep.Bias != nil && len(ep.Bias) < n1:
		panic(fmt.Sprintf("kernels: %s: %d biases for %d columns", op, len(ep.Bias), n1))
	case ep.Residual != nil && (ep.LdResidual < n1 && m > 1 || len(ep.Residual) < (m-1)*ep.LdResidual+n1):
		panic(fmt.Sprintf("kernels: %s: residual has %d elements, want %d rows of %d at stride %d", op, len(ep.Residual), m, n1, ep.LdResidual))
	}
}

// block leaves bias + x*w for rows rows and the columns [n,n+cols) in s.sum. Whole tiles are computed: the columns up
// to the next multiple of tileCols are padding or another call's.
func (s *matmulScratch) block(x []float32, ldx, rows int, w *PackedF32, n, cols int, bias []float32) {
	for i := range rows {
		sum := s.sum[i*blockCols:][:roundUp(cols, tileCols)]
		clear(sum)
		if bias != nil {
			copy(sum, bias[n:n+cols])
		}
	}
	for k := 0; k < w.K; {
		most := directK
		if rows > directRows || w.pairs != nil && !w.InBF16() {
			most = blockK
		}
		kc := min(most, w.K-k)
		if w.InBF16() {
			s.blockPairs(x[k:], ldx, rows, w, n, cols, k, kc)
			k += kc
			continue
		}
		a, lda := x[k:], ldx
		if rows > directRows && ldx%crowded == 0 {
			for i := range rows {
				copy(s.x[i*strideX:][:kc], x[i*ldx+k:])
			}
			a, lda = s.x, strideX
		}
		for j := 0; j < cols; j += tileCols {
			s.tile(s.sum[j:], a, lda, rows, w, n+j, k, kc)
		}
		k += kc
	}
}

// tile adds the products of kc k from k on for two panels, from column n on. Halves that many rows meet are made
// float32 first, in the nearest cache, and so is bfloat16.
func (s *matmulScratch) tile(c, a []float32, lda, rows int, w *PackedF32, n, k, kc int) {
	at, ldb, ahead := n*w.K+k*panelCols, panelCols*w.K, 0
	if n+tileCols < w.N {
		ahead = tileCols * w.K
	}
	switch {
	case w.panels != nil:
		tile(c, blockCols, a, lda, rows, w.panels[at:], ldb, kc, ahead, true)
	case w.pairs != nil:
		s.widenPairs(w, n, k, kc)
		tile(c, blockCols, a, lda, rows, s.pair, blockK*panelCols, kc, 0, true)
	case rows <= directRows:
		tileHalf(c, blockCols, a, lda, rows, w.halves[at:], ldb, kc, ahead, true)
	default:
		fromHalf(s.pair[:kc*panelCols], w.halves[at:])
		fromHalf(s.pair[kc*panelCols:][:kc*panelCols], w.halves[at+ldb:])
		tile(c, blockCols, a, lda, rows, s.pair, kc*panelCols, kc, 0, true)
	}
}

// store runs the rest of the epilogue and writes the block's columns to dst, whose first row is row i of the call.
func (s *matmulScratch) store(dst []float32, ldd, i, rows, n, cols int, ep Epilogue) {
	for r := range rows {
		sum := s.sum[r*blockCols:][:cols]
		activate(ep.Act, sum)
		d := dst[r*ldd+n:][:cols]
		if ep.Residual == nil {
			copy(d, sum)
			continue
		}
		add(d, sum, ep.Residual[(i+r)*ep.LdResidual+n:][:cols])
	}
}
