package kernels

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"unsafe"
)

const (
	// StripRows is how many rows of a [Quantised] belong together: where [MatMulI8] may begin is a multiple of it.
	StripRows = tileRows
	// outlier is how many times a row's mean magnitude a fine row's low byte reaches: four standard deviations of
	// normal numbers. Then a step is about as fine, against the row, as one of int8 weights against their column, and
	// few numbers need a second byte.
	outlier = 5
	// mostI16 is the greatest magnitude of a fine number: 127*256 + 127.
	mostI16 = 127*256 + 127
	// leastScale is the least step told from none.
	leastScale = 1e-30
)

// Quantised is a matrix [m][k] of activations as integers, made by [Quantised.Quantise] for [MatMulI8]. Each row has a
// step of its own, and a number is the nearest multiple of it.
//
// Of a coarse row the greatest magnitude is 127 steps. That is crude where a few channels are far larger than the rest,
// as after a layer norm of a transformer. Of a fine row a step is chosen by the mean magnitude instead, and numbers
// have up to 16 bits, low byte and high byte, of which the high one is mostly zero; the tiles skip the zeros where they
// can. See T. Dettmers et al., "LLM.int8()", 2022, section 3.2, for the outliers; there they are kept in half
// precision. Where low parts have seven bits, see sevens.go, coarse rows have high bytes too, but rarely.
//
// The zero value is ready for use. Distinct strips may be quantised at the same time.
type Quantised struct {
	m, k, kp int
	fine     bool
	scale    []float32 // [m]
	sum      []int32   // [m], of a row's integers

	zero []int32 // [m], the number that stands for 0, of rows of seven bits

	wide  []int16 // [m][kp], of fine rows where the tier multiplies 16 bits
	lo    []int8  // [m][kp] else: the low bytes
	lists highLists
}

// highLists are the groups of four k of which some row has a high byte, for rows rows after another.
type highLists struct {
	rows   int
	groups int      // of a row
	list   []uint32 // [lists][groups], where they lie in a panel
	count  []int    // [lists]
	high   []int8   // [lists][groups][rows][4], the bytes
}

// reset makes room for m rows of kp.
func (l *highLists) reset(m, kp int) {
	l.rows, l.groups = listRows, kp/groupK
	if sevenBits() {
		l.rows = 1
	}
	lists := (m + l.rows - 1) / l.rows
	l.list = resize(l.list, lists*l.groups)
	l.high = resize(l.high, lists*l.rows*kp)
	if cap(l.count) < lists {
		l.count = make([]int, lists)
	}
	l.count = l.count[:lists]
}

// from is the lists from row i on, the first of a list, their bytes, and how long they are.
func (l *highLists) from(i int) (list []uint32, high []int8, counts []int) {
	at := i / l.rows
	return l.list[at*l.groups:], l.high[at*l.groups*l.rows*groupK:], l.count[at:]
}

// Reset makes room for m rows of k, fine or not, of undefined content. Memory is kept and grown only when needed.
func (q *Quantised) Reset(m, k int, fine bool) {
	if m < 0 || k < 0 {
		panic(fmt.Sprintf("kernels: Quantised: %d rows of %d", m, k))
	}
	q.m, q.k, q.kp, q.fine = m, k, roundUp(max(k, 1), padK), fine
	q.scale, q.sum = resize(q.scale, m), resize(q.sum, m)
	if q.wideRows() {
		q.wide = resize(q.wide, m*q.kp)
		return
	}
	q.lo = resize(q.lo, m*q.kp)
	if q.listed() {
		q.lists.reset(m, q.kp)
	}
	if sevenBits() {
		q.zero = resize(q.zero, m)
	}
}

// listed says whether rows have high bytes, and lists of them.
func (q *Quantised) listed() bool { return q.fine && hasVNNI() || sevenBits() }

// wideRows says whether rows are kept as 16-bit numbers.
func (q *Quantised) wideRows() bool { return q.fine && !hasVNNI() && !sevenBits() }

// correction is what a tile takes away from the sums of row i, or with seven bits the row's zero, of which it takes
// away as often as a column sums up to.
func (q *Quantised) correction(i int, w *PackedI8) int32 {
	if w.sums != nil {
		return q.zero[i]
	}
	return w.offset * q.sum[i]
}

// Quantise fills rows [i, i+m) from x, [m][ldx]. i is a multiple of [StripRows], as is m unless the rows are the last.
func (q *Quantised) Quantise(i int, x []float32, ldx, m int) {
	if i < 0 || i%StripRows != 0 || m < 0 || i+m > q.m || m%StripRows != 0 && i+m != q.m || m > 0 && len(x) < (m-1)*ldx+q.k {
		panic(fmt.Sprintf("kernels: Quantise: %d rows from row %d of %d, %d elements at stride %d", m, i, q.m, len(x), ldx))
	}
	s := quantiseScratches.Get().(*quantiseScratch)
	defer quantiseScratches.Put(s)
	for r := 0; r < m; r += StripRows {
		q.strip(s, i+r, x[r*ldx:], ldx, min(StripRows, m-r))
	}
}

// strip fills a strip from row i on.
func (q *Quantised) strip(s *quantiseScratch, i int, x []float32, ldx, rows int) {
	s.begin(q, rows)
	for r := range rows {
		row := x[r*ldx:][:q.k]
		if q.k < q.kp {
			s.row = resize(s.row, q.kp)
			clear(s.row[copy(s.row, row):])
			row = s.row
		}
		q.setRow(s, i+r, row, q.step(row))
	}
	q.end(s, i, rows)
}

// setRow makes integers of a padded row. A strip's rows are set between begin and end.
func (q *Quantised) setRow(s *quantiseScratch, i int, row []float32, step rowStep) {
	q.scale[i] = step.scale
	at := i * q.kp
	if q.wideRows() {
		q.sum[i] = toInt16(q.wide[at:][:q.kp], row, step.inv)
		return
	}
	lo, hi := q.lo[at:][:q.kp], s.hi[i%StripRows*q.kp:][:q.kp]
	any := &s.any[i%StripRows]
	if sevenBits() {
		q.zero[i] = step.zero
		*any = toSevens(lo, hi, row, step.inv, step.zero)
	} else {
		q.sum[i], *any = toBytes(lo, hi, row, step.inv)
	}
}

// end lists the groups with high bytes of the strip that begins at row i.
func (q *Quantised) end(s *quantiseScratch, i, rows int) {
	if !q.listed() {
		return
	}
	for r := 0; r < rows; r += q.lists.rows {
		n, of := 0, min(q.lists.rows, rows-r)
		if slices.Contains(s.any[r:r+of], true) {
			n = q.lists.gather(s, i+r, s.hi[r*q.kp:], of)
		}
		q.lists.count[(i+r)/q.lists.rows] = n
	}
}

// rowStep is how a row becomes integers.
type rowStep struct {
	scale, inv float32 // a number's step and its inverse, both 0 for a row of next to nothing
	zero       int32   // of a row of seven bits
}

// step chooses a row's step. A row that holds NaN or an infinity has one that is none, so that its products are none.
func (q *Quantised) step(row []float32) rowStep {
	if sevenBits() {
		return stepSevens(row, q.k, q.fine)
	}
	most, sum := absSums(row)
	if q.fine {
		return fineStep(most, sum, q.k)
	}
	return checkedStep(most/127, sum)
}

// fineStep is the step of a fine row of k numbers.
func fineStep(most, sum float32, k int) rowStep {
	return checkedStep(max(min(most/127, sum*(outlier/(127*float32(max(1, k))))), most/mostFine()), sum)
}

// mostFine is the greatest magnitude of a fine number.
func mostFine() float32 {
	if sevenBits() {
		return sevenFar
	}
	return mostI16
}

// checkedStep is a step of scale for numbers whose magnitudes sum up to sum.
func checkedStep(scale, sum float32) rowStep {
	switch {
	case sum != sum:
		return rowStep{scale: sum}
	case scale < leastScale:
		return rowStep{}
	}
	return rowStep{scale: scale, inv: 1 / scale}
}

// gather lists the groups of rows rows from row i on that have high bytes, copies these from hi, and returns their
// number.
func (l *highLists) gather(s *quantiseScratch, i int, hi []int8, rows int) (n int) {
	at := i / l.rows * l.groups
	list, high, words := l.list[at:], asWords(l.high[at*l.rows*groupK:]), asWords(hi)
	if l.rows == 1 {
		return listWords(list[:l.groups], high[:l.groups], words[:l.groups])
	}
	s.masks = resize(s.masks, l.groups*groupK/padK)
	highMasks(s.masks, hi, l.groups*groupK, rows)
	for b, mask := range s.masks {
		for ; mask != 0; mask &= mask - 1 {
			g := b*8 + bits.TrailingZeros8(mask)
			list[n] = uint32(g * groupK * panelCols)
			to := high[n*l.rows:][:rows]
			for r := range to {
				to[r] = words[r*l.groups+g]
			}
			n++
		}
	}
	return n
}

// quantiseScratch is what a strip needs while it is quantised.
type quantiseScratch struct {
	row   []float32       // padded
	hi    []int8          // [StripRows][kp]
	any   [StripRows]bool // of a row of hi is not zero
	masks []uint8
}

var quantiseScratches = sync.Pool{New: func() any { return new(quantiseScratch) }}

// begin makes room for a strip of rows rows.
func (s *quantiseScratch) begin(q *Quantised, rows int) {
	s.hi = resize(s.hi, rows*q.kp)
}

// asWords is the same memory in fours of bytes. x is aligned to them.
func asWords(x []int8) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/4)
}
