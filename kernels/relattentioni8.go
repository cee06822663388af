package kernels

import "fmt"

// PackedPositionsI8 is one head's relative positions in bytes, laid out for [RelativeAttentionI8]: a step for each
// position. The zero value is empty and ready for [PackedPositionsI8.Pack]. It must not be packed while an attention
// reads it.
type PackedPositionsI8 struct{ p PackedI8 }

// Pack copies n rows of x, [n][ldx], of which the first dh columns count, in place of what p held. Memory is kept and
// grown only when a larger n or dh comes.
func (p *PackedPositionsI8) Pack(x []float32, ldx, n, dh int) {
	checkPositions(x, ldx, n, dh)
	p.p.reset(n, dh, true)
	p.p.packRows(x, ldx)
}

// stretch is the positions from one on, the first of a tile, to another.
func (p *PackedPositionsI8) stretch(from, to int) PackedI8 {
	s := p.p
	s.N, s.panels, s.scale = to-from, s.panels[from*s.kp:], s.scale[from:]
	if s.sums != nil {
		s.sums = s.sums[from:]
	}
	return s
}

// RelativeAttentionI8Work is the memory of one [RelativeAttentionI8] after another. The zero value is ready for use. It
// belongs to one goroutine.
type RelativeAttentionI8Work struct {
	AttentionI8Work
	biased []float32 // [StripRows][dh]
	met    []float32 // [StripRows][a stretch of positions]: products with them
}

// RelativeAttentionI8 is [RelativeAttention] by integers, as [AttentionI8] is [Attention]. Positions are bytes like
// keys.
func RelativeAttentionI8(dst []float32, ldd int, q []float32, ldq, rows int, kv *PackedKVI8, pos *PackedPositionsI8, first int, u, v []float32, scale float32, w *RelativeAttentionI8Work) {
	t, dh := kv.t, kv.dh
	if rows <= 0 || dh == 0 {
		return
	}
	if rows > 1 && (ldd < dh || ldq < dh) || len(dst) < (rows-1)*ldd+dh || len(q) < (rows-1)*ldq+dh {
		panic(fmt.Sprintf("kernels: RelativeAttentionI8: %d rows of %d: dst %d at stride %d, q %d at stride %d", rows, dh, len(dst), ldd, len(q), ldq))
	}
	checkRelative(rows, t, dh, first, pos.p.N, pos.p.K, u, v)
	w.reserve(kv)
	w.biased = resize(w.biased, StripRows*dh)
	for i := 0; i < rows; i += StripRows {
		n := min(StripRows, rows-i)
		w.relativeScores(q[i*ldq:], ldq, n, kv, pos, first-i, u, v)
		w.softmax(n, t, scale, nil, 0)
		w.mix(&kv.v)
		for r := range n {
			copy(dst[(i+r)*ldd:][:dh], w.sums[r*roundUp(dh, tileCols):])
		}
	}
}

// relativeScores leaves the scores of a strip, not yet scaled.
func (w *RelativeAttentionI8Work) relativeScores(q []float32, ldq, rows int, kv *PackedKVI8, pos *PackedPositionsI8, first int, u, v []float32) {
	t := kv.t
	from := (first - rows + 1) / tileCols * tileCols
	stretch := pos.stretch(from, first+t)
	lds, ldm := roundUp(t, tileCols), roundUp(stretch.N, tileCols)
	w.met = resize(w.met, StripRows*ldm)
	w.biasedProduct(w.met, ldm, q, ldq, rows, v, &stretch)
	w.biasedProduct(w.scores, lds, q, ldq, rows, u, &kv.k)
	for r := range rows {
		row := w.scores[r*lds:][:t]
		add(row, row, w.met[r*ldm+first-r-from:][:t])
	}
}

// biasedProduct sets c, [rows][ldc], to the queries plus a bias, times b.
func (w *RelativeAttentionI8Work) biasedProduct(c []float32, ldc int, q []float32, ldq, rows int, bias []float32, b *PackedI8) {
	dh := len(bias)
	addBias(w.biased, q, ldq, rows, bias)
	w.q.Reset(rows, dh, true)
	w.q.Quantise(0, w.biased, dh, rows)
	w.product(c, ldc, &w.q, b)
}
