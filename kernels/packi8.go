package kernels

import (
	"encoding/binary"
	"fmt"
	"sync"
	"unsafe"
)

// groupK is how many k one instruction multiplies at once for an output column, and so how packed bytes are grouped.
const groupK = 4

// padK is what K is padded to in packed and quantised bytes: whole registers of any tier, and whole turns of the tiles'
// loops.
const padK = 32

// restSteps is how many steps of what bytes leave of a weight make one of the bytes.
const restSteps = 256

// PackedI8 is a weight matrix [N][K] in bytes, laid out for [MatMulI8]: panels of 16 output columns in groups of four
// k, [N/16][K/4][16][4], 64-byte aligned, N padded to a multiple of 32 and K likewise. A byte is the rounded quotient
// of the weight and its column's scale, plus an offset that makes it unsigned where the instructions want that of this
// factor. It does not change once made and may be shared.
type PackedI8 struct {
	N, K   int
	kp     int // K as padded
	fine   bool
	offset int32
	panels []uint8
	scale  []float32 // [N as padded]
	sums   []int32   // [N as padded], of a column's bytes, where rows are of seven bits
	rest   []int8    // [N][K as padded], of which 256 make a step of panels; or nil
}

// PackI8 packs w, [n][k] row-major. w is copied and may be reused. The weights are for rows quantised with the same
// fine. With rest, what bytes leave of the weights is kept too, in bytes of its own, for [PackedI8.Refine] and
// [PackedI8.Row].
func PackI8(w []float32, n, k int, fine, rest bool) *PackedI8 {
	if n < 0 || k < 0 || len(w) < n*k {
		panic(fmt.Sprintf("kernels: PackI8: %d weights for %d x %d", len(w), n, k))
	}
	p := newPackedI8(n, k, fine, rest)
	p.packRows(w, k)
	return p
}

// PackI8Halves is PackI8 for weights that are halves (IEEE 754 binary16), little-endian, at any address, as files hold
// them.
func PackI8Halves(w []byte, n, k int, fine, rest bool) *PackedI8 {
	if n < 0 || k < 0 || len(w) < 2*n*k {
		panic(fmt.Sprintf("kernels: PackI8Halves: %d bytes for %d x %d", len(w), n, k))
	}
	p := newPackedI8(n, k, fine, rest)
	p.packEach(func(dst []float32, i int) { widen(dst[:k], w[2*i*k:]) })
	return p
}

// newPackedI8 has room for n x k weights of undefined content.
func newPackedI8(n, k int, fine, rest bool) *PackedI8 {
	p := new(PackedI8)
	p.reset(n, k, fine)
	if rest {
		p.rest = alignedSlice[int8](n * p.kp)
	}
	return p
}

// reset makes room for n x k weights of undefined content.
func (p *PackedI8) reset(n, k int, fine bool) {
	p.N, p.K, p.kp, p.fine, p.offset = n, k, roundUp(max(k, 1), padK), fine, 128
	if sevenBits() {
		p.offset = 0
	}
	np := roundUp(n, tileCols)
	p.panels, p.scale = resize(p.panels, np*p.kp), resize(p.scale, np)
}

// packRows packs w, [N][ldw].
func (p *PackedI8) packRows(w []float32, ldw int) {
	p.packEach(func(dst []float32, i int) { copy(dst, w[i*ldw:][:p.K]) })
}

// packEach packs the rows that row copies to dst, K numbers and what it leaves there. Sixteen rows are made bytes
// first; then fours of bytes are moved as packColumns moves floats.
func (p *PackedI8) packEach(row func(dst []float32, i int)) {
	s := packScratches.Get().(*packScratch)
	defer packScratches.Put(s)
	s.row, s.hi = resize(s.row, p.kp), resize(s.hi, p.kp)
	clear(s.row[p.K:])
	s.bytes = resize(s.bytes, panelCols*p.kp)
	groups := p.kp / groupK
	for j := 0; j < len(p.scale); j += panelCols {
		rows := max(0, min(panelCols, p.N-j))
		clear(p.scale[j+rows : j+panelCols])
		for r := range rows {
			row(s.row, j+r)
			bytes := s.bytes[r*p.kp:][:p.kp]
			if p.rest == nil {
				p.scale[j+r] = s.packRow(bytes, p.offset)
			} else {
				p.scale[j+r] = s.packRest(bytes, p.rest[(j+r)*p.kp:][:p.kp], p.offset)
			}
		}
		packPanel(asFloats(p.panels[j*p.kp:][:panelCols*p.kp]), asFloats(s.bytes), groups, rows, groups)
	}
	if sevenBits() {
		p.sumColumns()
	}
}

// packScratch is what a panel needs while it is packed.
type packScratch struct {
	row   []float32 // padded
	hi    []int8    // that nobody reads
	bytes []uint8   // [16][kp]
}

var packScratches = sync.Pool{New: func() any { return new(packScratch) }}

// packRow makes s.row bytes and returns its scale.
func (s *packScratch) packRow(dst []uint8, offset int32) float32 {
	step := s.weightStep()
	toBytes(asSigned(dst), s.hi, s.row, step.inv)
	addBytes(dst, uint8(offset))
	return step.scale
}

// packRest is packRow that keeps what is left, in 256ths of the scale: the low bytes of a finer number, of which dst
// are the high ones.
func (s *packScratch) packRest(dst []uint8, rest []int8, offset int32) float32 {
	step := s.weightStep()
	toBytes(rest, asSigned(dst), s.row, restSteps*step.inv)
	addBytes(dst, uint8(offset))
	return step.scale
}

// weightStep is the step of the column in s.row.
func (s *packScratch) weightStep() rowStep {
	most, sum := absSums(s.row)
	if sevenBits() {
		most = quads(s.row, most)
	}
	return checkedStep(most/127, sum)
}

// addBytes adds v to each byte, eight at a time: the top bits are added apart, so that nothing is carried from byte to
// byte.
func addBytes(x []uint8, v uint8) {
	if v == 0 {
		return
	}
	const top = 0x8080808080808080
	add := uint64(v) * 0x0101010101010101
	for i := 0; i < len(x); i += 8 {
		w := binary.NativeEndian.Uint64(x[i:])
		binary.NativeEndian.PutUint64(x[i:], (w&^top+add&^top)^(w^add)&top)
	}
}

// asSigned is the same memory as signed bytes.
func asSigned(x []uint8) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// asFloats is the same memory in fours of bytes, to be moved only. x is aligned to them.
func asFloats(x []uint8) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/4)
}

// Fine says for which rows the weights are made.
func (p *PackedI8) Fine() bool { return p.fine }

// Refines says whether the weights are kept with what bytes leave of them.
func (p *PackedI8) Refines() bool { return p.rest != nil }

// Bytes returns the memory that the packed weights take.
func (p *PackedI8) Bytes() int { return cap(p.panels) + 4*cap(p.scale) + 4*cap(p.sums) + cap(p.rest) }

// Row writes row n of the weight to dst, which holds at least K elements, as far as bytes, and what they leave where it
// was kept, hold it.
func (p *PackedI8) Row(n int, dst []float32) {
	if n < 0 || n >= p.N || len(dst) < p.K {
		panic(fmt.Sprintf("kernels: Row: row %d of %d x %d into %d", n, p.N, p.K, len(dst)))
	}
	at := n/panelCols*panelCols*p.kp + n%panelCols*groupK
	for i := range dst[:p.K] {
		q := p.panels[at+i/groupK*groupK*panelCols+i%groupK]
		dst[i] = float32(int8(q-uint8(p.offset))) * p.scale[n]
	}
	if p.rest != nil {
		for i, q := range p.rest[n*p.kp:][:p.K] {
			dst[i] += float32(q) * (p.scale[n] / restSteps)
		}
	}
}
