package kernels

import (
	"fmt"
	"math/bits"
	"sync"
	"unsafe"
)

const (
	// StripRows is how many rows of a [Quantised] belong together: where [MatMulI8] may begin is a multiple of it.
	StripRows = tileRows
	// outlier is how many times a row's mean magnitude a fine row's low byte reaches: four standard deviations of normal numbers.
	// Then a step is about as fine, against the row, as one of int8 weights against their column, and few numbers need a second byte.
	outlier = 5
	// mostI16 is the greatest magnitude of a fine number: 127*256 + 127.
	mostI16 = 127*256 + 127
	// leastScale is the least step told from none.
	leastScale = 1e-30
)

// Quantised is a matrix [m][k] of activations as integers, made by [Quantised.Quantise] for [MatMulI8]. Each row has a step of its
// own, and a number is the nearest multiple of it.
//
// Of a coarse row the greatest magnitude is 127 steps. That is crude where a few channels are far larger than the rest, as after a
// layer norm of a transformer. Of a fine row a step is chosen by the mean magnitude instead, and numbers have up to 16 bits, low byte
// and high byte, of which the high one is mostly zero; the tiles skip the zeros where they can. See T. Dettmers et al., "LLM.int8()",
// 2022, section 3.2, for the outliers; there they are kept in half precision.
//
// The zero value is ready for use. Distinct strips may be quantised at the same time.
type Quantised struct {
	m, k, kp int
	fine     bool
	scale    []float32 // [m]
	sum      []int32   // [m], of a row's integers

	wide []int16 // [m][kp], of fine rows where the tier multiplies 16 bits
	lo   []int8  // [m][kp] else: the low bytes

	// For each strip, the groups of four k of which some row has a high byte: where they lie in a panel, and the bytes
	// [group][StripRows][4].
	list  []uint32 // [strips][kp/4]
	count []int    // [strips]
	high  []int8   // [strips][kp/4][StripRows][4]
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
	if fine {
		strips := (m + StripRows - 1) / StripRows
		q.list = resize(q.list, strips*q.kp/groupK)
		q.high = resize(q.high, strips*q.kp*StripRows)
		if cap(q.count) < strips {
			q.count = make([]int, strips)
		}
		q.count = q.count[:strips]
	}
}

// wideRows says whether rows are kept as 16-bit numbers.
func (q *Quantised) wideRows() bool { return q.fine && !hasVNNI() }

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
		scale, inv := q.step(row)
		q.setRow(s, i+r, row, scale, inv)
	}
	q.end(s, i/StripRows, rows)
}

// setRow makes integers of a padded row. A strip's rows are set between begin and end.
func (q *Quantised) setRow(s *quantiseScratch, i int, row []float32, scale, inv float32) {
	q.scale[i] = scale
	at := i * q.kp
	if q.wideRows() {
		q.sum[i] = toInt16(q.wide[at:][:q.kp], row, inv)
		return
	}
	sum, any := toBytes(q.lo[at:][:q.kp], s.hi[i%StripRows*q.kp:][:q.kp], row, inv)
	q.sum[i] = sum
	s.any = s.any || any
}

// end lists the groups of a strip that have high bytes.
func (q *Quantised) end(s *quantiseScratch, strip, rows int) {
	if q.fine && !q.wideRows() {
		q.count[strip] = 0
		if s.any {
			q.gather(s, strip, rows)
		}
	}
}

// step returns a row's step and its inverse, both 0 for a row of next to nothing. A row that holds NaN or an infinity has a step
// that is none, so that its products are none.
func (q *Quantised) step(row []float32) (scale, inv float32) {
	most, sum := absSums(row)
	if q.fine {
		return fineStep(most, sum, q.k)
	}
	return checkedStep(most/127, sum)
}

// fineStep is the step of a fine row of k numbers.
func fineStep(most, sum float32, k int) (scale, inv float32) {
	return checkedStep(max(min(most/127, sum*(outlier/(127*float32(max(1, k))))), most/mostI16), sum)
}

func checkedStep(scale, sum float32) (float32, float32) {
	switch {
	case sum != sum:
		return sum, 0
	case scale < leastScale:
		return 0, 0
	}
	return scale, 1 / scale
}

// gather lists a strip's groups that have high bytes, and copies these from s.hi.
func (q *Quantised) gather(s *quantiseScratch, strip, rows int) {
	s.masks = resize(s.masks, q.kp/padK)
	highMasks(s.masks, s.hi, q.kp, rows)
	list, high, hi := q.list[strip*q.kp/groupK:], asWords(q.high[strip*q.kp*StripRows:]), asWords(s.hi)
	groups, n := q.kp/groupK, 0
	for b, mask := range s.masks {
		for ; mask != 0; mask &= mask - 1 {
			g := b*8 + bits.TrailingZeros8(mask)
			list[n] = uint32(g * groupK * panelCols)
			to := high[n*StripRows:][:rows]
			for r := range to {
				to[r] = hi[r*groups+g]
			}
			n++
		}
	}
	q.count[strip] = n
}

// quantiseScratch is what a strip needs while it is quantised.
type quantiseScratch struct {
	row   []float32 // padded
	hi    []int8    // [StripRows][kp]
	any   bool      // of hi is not zero
	masks []uint8
}

var quantiseScratches = sync.Pool{New: func() any { return new(quantiseScratch) }}

// begin makes room for a strip of rows rows.
func (s *quantiseScratch) begin(q *Quantised, rows int) {
	s.hi, s.any = resize(s.hi, rows*q.kp), false
}

// asWords is the same memory in fours of bytes. x is aligned to them.
func asWords(x []int8) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/4)
}
