package kernels

import "fmt"

// AttentionI8Work is the memory of one [AttentionI8] after another. The zero value is ready for use. It belongs to one
// goroutine.
type AttentionI8Work struct {
	q, p   Quantised // a strip of queries, and of their distributions
	scores []float32 // [StripRows][t as padded]
	sums   []float32 // [StripRows][dh as padded]
	corr   [StripRows]int32
	// Where the distributions aren't next to nothing, see listBlocks, of seven bits alone.
	blocks []uint32
	filled [StripRows]int
}

// noBias is as long as one assembly call's columns may be, which bounds its time.
var noBias [32 * tileCols]float32

// AttentionI8 is [Attention] by integers: queries and distributions are fine rows, see [Quantised], keys and values
// bytes. What is between the two products is float32. A row's bits depend on its query and the keys and values alone.
func AttentionI8(dst []float32, ldd int, q []float32, ldq, rows int, kv *PackedKVI8, scale float32, w *AttentionI8Work, probs []float32, ldp int) {
	t, dh := kv.t, kv.dh
	if rows <= 0 || dh == 0 {
		return
	}
	if rows > 1 && (ldd < dh || ldq < dh) || len(dst) < (rows-1)*ldd+dh || len(q) < (rows-1)*ldq+dh {
		panic(fmt.Sprintf("kernels: AttentionI8: %d rows of %d: dst %d at stride %d, q %d at stride %d", rows, dh, len(dst), ldd, len(q), ldq))
	}
	if probs != nil && (rows > 1 && ldp < t || len(probs) < (rows-1)*ldp+t) {
		panic(fmt.Sprintf("kernels: AttentionI8: probs has %d elements, want %d rows of %d at stride %d", len(probs), rows, t, ldp))
	}
	w.reserve(kv)
	for i := 0; i < rows; i += StripRows {
		n := min(StripRows, rows-i)
		w.q.Reset(n, dh, true)
		w.q.Quantise(0, q[i*ldq:], ldq, n)
		w.product(w.scores, roundUp(t, tileCols), &w.q, &kv.k)
		var p []float32
		if probs != nil {
			p = probs[i*ldp:]
		}
		w.softmax(n, t, scale, p, ldp)
		w.mix(&kv.v)
		for r := range n {
			copy(dst[(i+r)*ldd:][:dh], w.sums[r*roundUp(dh, tileCols):])
		}
	}
}

func (w *AttentionI8Work) reserve(kv *PackedKVI8) {
	w.scores = resize(w.scores, StripRows*roundUp(max(1, kv.t), padK))
	w.sums = resize(w.sums, StripRows*roundUp(kv.dh, tileCols))
}

// product sets c, [x.m][ldc], to the strip x times b.
func (w *AttentionI8Work) product(c []float32, ldc int, x *Quantised, b *PackedI8) {
	w.multiply(tileI8{c: c, ldc: ldc}, x, b)
}

// mix sets the sums to the distributions times the values v. Most of a distribution is next to nothing, and zero when
// rounded: of speech, a third of the blocks of eight keys are zeros in three rows at once, and skipped.
func (w *AttentionI8Work) mix(v *PackedI8) {
	t := tileI8{c: w.sums, ldc: roundUp(v.N, tileCols)}
	if sevenBits() {
		t.blocks, t.filled = w.blocks, w.filled[:]
	}
	w.multiply(t, &w.p, v)
}

// multiply runs t, which has its results' place, for the strip x and all of b.
func (w *AttentionI8Work) multiply(t tileI8, x *Quantised, b *PackedI8) {
	for r := range x.m {
		w.corr[r] = x.correction(r, b)
	}
	const step = len(noBias)
	t.rows, t.corr = x.m, w.corr[:]
	c := t.c
	for j := 0; j < b.N; j += step {
		t.tiles, t.c, t.bias = (min(step, b.N-j)+tileCols-1)/tileCols, c[j:], noBias[:]
		t.take(x, 0, b, j)
		t.run()
	}
}

// softmax turns scores into distributions in w.p, and copies them to probs, if it isn't nil. What a distribution sums
// up to is divided out of its step.
func (w *AttentionI8Work) softmax(rows, t int, scale float32, probs []float32, ldp int) {
	s := quantiseScratches.Get().(*quantiseScratch)
	defer quantiseScratches.Put(s)
	w.p.Reset(rows, t, true)
	s.begin(&w.p, rows)
	for r := range rows {
		row := w.scores[r*w.p.kp:][:w.p.kp]
		sum := float32(1)
		clear(row[t:])
		if t > 0 {
			sum = weights(row[:t], scale)
		}
		if probs != nil {
			p := probs[r*ldp:][:t]
			copy(p, row)
			Scale(p, 1/sum)
		}
		step := fineStep(1, sum, t) // the greatest is exp(0)
		step.scale /= sum
		w.p.setRow(s, r, row, step)
	}
	w.p.end(s, 0, rows)
	if sevenBits() {
		w.list(rows)
	}
}

// list lists the blocks of each run of distributions.
func (w *AttentionI8Work) list(rows int) {
	kp := w.p.kp
	n := kp / blockK8
	w.blocks = resize(w.blocks, StripRows*n)
	for r := 0; r < rows; r += sevenRows {
		w.filled[r] = listBlocks(w.blocks[r*n:][:n], w.p.lo[r*kp:], kp, min(sevenRows, rows-r), kp)
	}
}
