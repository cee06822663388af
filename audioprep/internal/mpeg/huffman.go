package mpeg

import (
	"hark/audioprep/internal/bits"
	"hark/audioprep/internal/huffman"
)

// Frequency lines are coded in pairs by one of 32 tables, or in quadruples of
// -1, 0 and 1 by one of two. A table of pairs codes values up to 15; some add
// "linbits" of extra value to the 15. ISO/IEC 11172-3, table B.7.

// pairTable is one of the 32 tables of pairs; code is nil for the table that
// codes zeros with no bits, and for two numbers that stand for nothing.
type pairTable struct {
	code    *huffman.Table
	linbits int
}

var pairTables, quadTables = makeTables()

func makeTables() (pairs [32]pairTable, quads [2]*huffman.Table) {
	for n, leaves := range pairLeaves {
		pairs[n].code = huffman.New(leaves, huffman.Hex)
	}
	for i, linbits := range [8]int{1, 2, 3, 4, 6, 8, 10, 13} {
		pairs[16+i] = pairTable{pairs[16].code, linbits}
	}
	for i, linbits := range [8]int{4, 5, 6, 7, 8, 9, 11, 13} {
		pairs[24+i] = pairTable{pairs[24].code, linbits}
	}
	for i, leaves := range quadLeaves {
		quads[i] = huffman.New(leaves, huffman.Hex)
	}
	return pairs, quads
}

// readLines decodes the quantised lines of a granule, up to the bit end, and
// leaves the reader there.
func (g *granule) readLines(r *bits.Reader, end int, values *[granuleLines]int16) {
	clear(values[:])
	at := 0
	for region, to := range [3]int{g.region[0], g.region[1], granuleLines} {
		to = min(to, 2*g.bigValues)
		at = readPairs(r, end, &pairTables[g.table[region]], values, at, to)
	}
	quad := quadTables[g.quadTable]
	for at+4 <= granuleLines && r.At < end {
		v := quad.Read(r).Value
		var q [4]int16
		for i := range q {
			if v>>(3-i)&1 != 0 {
				q[i] = 1
				if r.Flag() {
					q[i] = -1
				}
			}
		}
		if r.At > end {
			break // the last one was padding
		}
		copy(values[at:], q[:])
		at += 4
	}
	g.nonzero = at
	r.At = end
}

// readPairs decodes lines [at, to) and returns to, or where the bits ended.
func readPairs(r *bits.Reader, end int, t *pairTable, values *[granuleLines]int16, at, to int) int {
	if t.code == nil {
		return max(at, to)
	}
	for ; at < to; at += 2 {
		if r.At >= end {
			return at
		}
		v := t.code.Read(r).Value
		values[at] = readValue(r, int(v>>4), t.linbits)
		values[at+1] = readValue(r, int(v&15), t.linbits)
	}
	return at
}

func readValue(r *bits.Reader, v, linbits int) int16 {
	if v == 0 {
		return 0
	}
	if v == 15 && linbits > 0 {
		v += r.Take(linbits)
	}
	if r.Flag() {
		v = -v
	}
	return int16(v)
}
