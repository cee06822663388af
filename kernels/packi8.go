package kernels

import (
	"fmt"
	"math"
)

// groupK is how many k one instruction multiplies at once for an output column, and so how packed bytes are grouped.
const groupK = 4

// padK is what K is padded to in packed and quantised bytes: whole registers of any tier, and whole turns of the tiles' loops.
const padK = 32

// PackedI8 is a weight matrix [N][K] in bytes, laid out for [MatMulI8]: panels of 16 output columns in groups of four k,
// [N/16][K/4][16][4], 64-byte aligned, N padded to a multiple of 32 and K likewise. A byte is the rounded quotient of the weight and
// its column's scale, plus an offset that makes it unsigned, as the instructions want one of their factors. It does not change once
// made and may be shared.
type PackedI8 struct {
	N, K   int
	kp     int // K as padded
	fine   bool
	offset int32
	panels []uint8
	scale  []float32 // [N as padded]
}

// PackI8 packs w, [n][k] row-major. w is copied and may be reused. The weights are for rows quantised with the same fine. Those that
// are not fine have seven bits instead of eight where the CPU's instruction would saturate otherwise.
func PackI8(w []float32, n, k int, fine bool) *PackedI8 {
	if n < 0 || k < 0 || len(w) < n*k {
		panic(fmt.Sprintf("kernels: PackI8: %d weights for %d x %d", len(w), n, k))
	}
	np, kp := roundUp(n, tileCols), roundUp(max(k, 1), padK)
	p := &PackedI8{N: n, K: k, kp: kp, fine: fine, offset: 128, panels: alignedSlice[uint8](np * kp), scale: alignedSlice[float32](np)}
	if !fine && saturates() {
		p.offset = 64
	}
	for j := range np {
		var row []float32
		if j < n {
			row = w[j*k:][:k]
		}
		p.packRow(j, row)
	}
	return p
}

// packRow packs row j, which may be shorter than K.
func (p *PackedI8) packRow(j int, row []float32) {
	var most, inv float32
	for _, v := range row {
		most = max(most, v, -v)
	}
	if most >= leastScale*float32(p.offset-1) {
		p.scale[j] = most / float32(p.offset-1)
		inv = 1 / p.scale[j]
	}
	at := j/panelCols*panelCols*p.kp + j%panelCols*groupK
	for i := 0; i < p.kp; i += groupK {
		group := (*[groupK]uint8)(p.panels[at+i*panelCols:])
		for g := range group {
			q := p.offset
			if i+g < len(row) {
				q += int32(math.RoundToEven(float64(row[i+g] * inv)))
			}
			group[g] = uint8(q)
		}
	}
}

// Fine says for which rows the weights are made.
func (p *PackedI8) Fine() bool { return p.fine }

// Bytes returns the memory that the packed weights take.
func (p *PackedI8) Bytes() int { return cap(p.panels) + 4*cap(p.scale) }

// Row writes row n of the weight to dst, which holds at least K elements, as far as bytes keep it.
func (p *PackedI8) Row(n int, dst []float32) {
	if n < 0 || n >= p.N || len(dst) < p.K {
		panic(fmt.Sprintf("kernels: Row: row %d of %d x %d into %d", n, p.N, p.K, len(dst)))
	}
	at := n/panelCols*panelCols*p.kp + n%panelCols*groupK
	for i := range dst[:p.K] {
		q := p.panels[at+i/groupK*groupK*panelCols+i%groupK]
		dst[i] = float32(int32(q)-p.offset) * p.scale[n]
	}
}
