package kernels

import "fmt"

// bfloat16 is the upper half of a float32: its exponent, and 8 significant bits. Weights kept so take half of float32's
// memory whatever they are, as halves do only where that loses nothing. Products are exact in float32, in which they
// are summed. Where the tier multiplies pairs of bfloat16 (avx512-bf16, and generic as its reference) x is rounded to
// them too. On the others weights are made float32 again in the nearest cache and meet x as it is, which is nearer to
// float32's results.

// PackBF16 is [PackF32] with weights rounded to bfloat16, to nearest, even in the middle.
func PackBF16(w []float32, n, k int) *PackedF32 {
	if n < 0 || k < 0 || len(w) < n*k {
		panic(fmt.Sprintf("kernels: PackBF16: %d weights for %d x %d", len(w), n, k))
	}
	return packPairs(n, k, func(j, _ int) []float32 { return w[j*k:] })
}

// PackBF16Halves is PackBF16 for weights that are halves (IEEE 754 binary16), little-endian, at any address, as files
// hold them.
func PackBF16Halves(w []byte, n, k int) *PackedF32 {
	if n < 0 || k < 0 || len(w) < 2*n*k {
		panic(fmt.Sprintf("kernels: PackBF16Halves: %d bytes for %d x %d", len(w), n, k))
	}
	return packPairs(n, k, widenedRows(w, k))
}

// packPairs packs [n][k] weights, of which rows returns so many rows from row j on, at most a panel's.
func packPairs(n, k int, rows func(j, rows int) []float32) *PackedF32 {
	p := &PackedF32{N: n, K: k, pairs: alignedSlice[uint32](roundUp(n, tileCols) * pairsOf(k))}
	panel := make([]float32, panelCols*2*pairsOf(k)) // where k is odd the last pair's second numbers stay zero
	for j := 0; j < n; j += panelCols {
		cols := min(panelCols, n-j)
		packPanel(panel, rows(j, cols), k, cols, k)
		toPairs(p.pairs[j*pairsOf(k):][:len(panel)/2], panel)
	}
	return p
}

// InBF16 says whether the tier in use multiplies bfloat16 for the weights, and not float32.
func (p *PackedF32) InBF16() bool { return p.pairs != nil && multipliesPairs() }

// pairsOf is how many pairs hold k numbers.
func pairsOf(k int) int { return (k + 1) / 2 }

// toPairs sets dst to src, [2*rows][16], rounded: row i holds pairs of row 2i, in the low halves, and row 2i+1.
func toPairs(dst []uint32, src []float32) {
	for len(dst) > 0 {
		n := min(len(dst), maxElems/2)
		toPairsRows(dst[:n], src[:2*n])
		dst, src = dst[n:], src[2*n:]
	}
}

// blockPairs adds to s.sum, for rows rows and the columns [n,n+cols), the products of kc k from k on, in pairs. x
// begins at k, which is even.
func (s *matmulScratch) blockPairs(x []float32, ldx, rows int, w *PackedF32, n, cols, k, kc int) {
	lda := pairsOf(kc)
	s.pairs = resize(s.pairs, rows*lda)
	for i := range rows {
		roundPairs(s.pairs[i*lda:][:lda], x[i*ldx:][:kc])
	}
	ldb := panelCols * pairsOf(w.K)
	for j := 0; j < cols; j += tileCols {
		ahead := 0
		if n+j+tileCols < w.N {
			ahead = 2 * ldb
		}
		at := (n+j)*pairsOf(w.K) + k/2*panelCols
		tilePairs(s.sum[j:], blockCols, s.pairs, lda, rows, w.pairs[at:], ldb, lda, ahead, true)
	}
}

// widenPairs sets s.pair, [2][blockK][16], to kc k from k on, which is even, of two panels from column n on.
func (s *matmulScratch) widenPairs(w *PackedF32, n, k, kc int) {
	for i := range 2 {
		at := (n+i*panelCols)*pairsOf(w.K) + k/2*panelCols
		fromPairsRows(s.pair[i*blockK*panelCols:], w.pairs[at:][:pairsOf(kc)*panelCols])
	}
}
