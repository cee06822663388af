package mpeg

// Frequency lines are coded in pairs by one of 32 tables, or in quadruples of
// -1, 0 and 1 by one of two. A table of pairs codes values up to 15; some add
// "linbits" of extra value to the 15. ISO/IEC 11172-3, table B.7.

// codeTable is a Huffman code for look-up: the next primaryBits lead to a value,
// or to a second look-up by the bits after them.
type codeTable struct {
	primary   [1 << primaryBits]code
	secondary []code
}

// code is a value and the length of its code. In the primary table a negative
// length is that of the second index, and value where that part begins.
type code struct {
	length int8
	value  uint16
}

const primaryBits = 8

// newCodeTable builds a table from the leaves of the code's tree, left to
// right, each as its depth in base 36 and its value in two hexadecimal digits.
// Since the trees are complete, depths alone give the codes.
func newCodeTable(leaves string) *codeTable {
	t := new(codeTable)
	at := uint32(0) // the next code, left-aligned in 32 bits
	for i := 0; i < len(leaves); i += 3 {
		n := int(digit(leaves[i]))
		value := uint16(digit(leaves[i+1])<<4 | digit(leaves[i+2]))
		if n <= primaryBits {
			from := at >> (32 - primaryBits)
			for k := range uint32(1) << (primaryBits - n) {
				t.primary[from+k] = code{int8(n), value}
			}
		} else {
			t.addLong(leaves[i:], at, n, value)
		}
		at += 1 << (32 - n)
	}
	return t
}

// addLong enters a code longer than primaryBits. rest is the leaves from this
// one on: the first below a primary entry makes room for all below it.
func (t *codeTable) addLong(rest string, at uint32, n int, value uint16) {
	p := &t.primary[at>>(32-primaryBits)]
	if p.length == 0 {
		deepest, filled := 0, 0.0
		for i := 0; i < len(rest) && filled < 1; i += 3 {
			d := int(digit(rest[i])) - primaryBits
			deepest = max(deepest, d)
			filled += 1 / float64(int(1)<<d)
		}
		*p = code{int8(-deepest), uint16(len(t.secondary))}
		t.secondary = append(t.secondary, make([]code, 1<<deepest)...)
	}
	width := int(-p.length)
	from := uint32(p.value) + at<<primaryBits>>(32-width)
	for k := range uint32(1) << (width + primaryBits - n) {
		t.secondary[from+k] = code{int8(n), value}
	}
}

func digit(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// read decodes one value.
func (t *codeTable) read(r *bitReader) uint16 {
	c := t.primary[r.peek(primaryBits)]
	if c.length < 0 {
		width := int(-c.length)
		v := r.peek(primaryBits+width) & (1<<width - 1)
		c = t.secondary[uint32(c.value)+v]
	}
	r.at += int(c.length)
	return c.value
}

// pairTable is one of the 32 tables of pairs; code is nil for the table that
// codes zeros with no bits, and for two numbers that stand for nothing.
type pairTable struct {
	code    *codeTable
	linbits int
}

var pairTables, quadTables = makeTables()

func makeTables() (pairs [32]pairTable, quads [2]*codeTable) {
	for n, leaves := range pairLeaves {
		pairs[n].code = newCodeTable(leaves)
	}
	for i, linbits := range [8]int{1, 2, 3, 4, 6, 8, 10, 13} {
		pairs[16+i] = pairTable{pairs[16].code, linbits}
	}
	for i, linbits := range [8]int{4, 5, 6, 7, 8, 9, 11, 13} {
		pairs[24+i] = pairTable{pairs[24].code, linbits}
	}
	for i, leaves := range quadLeaves {
		quads[i] = newCodeTable(leaves)
	}
	return pairs, quads
}

// readLines decodes the quantised lines of a granule, up to the bit end, and
// leaves the reader there.
func (g *granule) readLines(r *bitReader, end int, values *[granuleLines]int16) {
	clear(values[:])
	at := 0
	for region, to := range [3]int{g.region[0], g.region[1], granuleLines} {
		to = min(to, 2*g.bigValues)
		at = readPairs(r, end, &pairTables[g.table[region]], values, at, to)
	}
	quad := quadTables[g.quadTable]
	for at+4 <= granuleLines && r.at < end {
		v := quad.read(r)
		var q [4]int16
		for i := range q {
			if v>>(3-i)&1 != 0 {
				q[i] = 1
				if r.flag() {
					q[i] = -1
				}
			}
		}
		if r.at > end {
			break // the last one was padding
		}
		copy(values[at:], q[:])
		at += 4
	}
	g.nonzero = at
	r.at = end
}

// readPairs decodes lines [at, to) and returns to, or where the bits ended.
func readPairs(r *bitReader, end int, t *pairTable, values *[granuleLines]int16, at, to int) int {
	if t.code == nil {
		return max(at, to)
	}
	for ; at < to; at += 2 {
		if r.at >= end {
			return at
		}
		v := t.code.read(r)
		values[at] = readValue(r, int(v>>4), t.linbits)
		values[at+1] = readValue(r, int(v&15), t.linbits)
	}
	return at
}

func readValue(r *bitReader, v, linbits int) int16 {
	if v == 0 {
		return 0
	}
	if v == 15 && linbits > 0 {
		v += r.take(linbits)
	}
	if r.flag() {
		v = -v
	}
	return int16(v)
}
