// Package huffman decodes the Huffman codes of audio codecs by look-up.
package huffman

import "hark/audioprep/internal/bits"

// Table is a code: the next primaryBits lead to a value, or to a second look-up by
// the bits after them.
type Table struct {
	primary   [1 << primaryBits]Code
	secondary []Code
}

// Code is what a code word stands for.
type Code struct {
	// Length of the word in bits. In the primary table a negative one is that of the second
	// index, and Value where that part begins.
	Length int8
	Signs  uint8 // for whoever makes a table: bits that follow
	Value  uint16
}

const primaryBits = 9

// New builds a table from the leaves of the code's tree, left to right, each as its
// depth in base 36 and two digits of base 36, which value turns into what they stand
// for. Since such trees are complete, depths alone give the codes. It panics on a tree
// that isn't: leaves are tables of a program, not data.
func New(leaves string, value func(hi, lo int) Code) *Table {
	t := new(Table)
	at := uint64(0) // the next code, left-aligned in 32 bits
	for i := 0; i < len(leaves); i += 3 {
		n := digit(leaves[i])
		c := value(digit(leaves[i+1]), digit(leaves[i+2]))
		c.Length = int8(n)
		if n <= primaryBits {
			from := at >> (32 - primaryBits)
			for k := range uint64(1) << (primaryBits - n) {
				t.primary[from+k] = c
			}
		} else {
			t.addLong(leaves[i:], at, n, c)
		}
		at += 1 << (32 - n)
	}
	if at != 1<<32 {
		panic("huffman: the code is not complete")
	}
	return t
}

// addLong enters a code longer than primaryBits. rest is the leaves from this one on: the
// first below a primary entry makes room for all below it.
func (t *Table) addLong(rest string, at uint64, n int, c Code) {
	p := &t.primary[at>>(32-primaryBits)]
	if p.Length == 0 {
		deepest, filled := 0, 0.0
		for i := 0; i < len(rest) && filled < 1; i += 3 {
			d := digit(rest[i]) - primaryBits
			deepest = max(deepest, d)
			filled += 1 / float64(int(1)<<d)
		}
		*p = Code{Length: int8(-deepest), Value: uint16(len(t.secondary))}
		t.secondary = append(t.secondary, make([]Code, 1<<deepest)...)
	}
	width := int(-p.Length)
	from := int(p.Value) + int(uint32(at)<<primaryBits>>(32-width))
	for k := range 1 << (width + primaryBits - n) {
		t.secondary[from+k] = c
	}
}

// Hex is a value for New: the two digits as a number in hexadecimal.
func Hex(hi, lo int) Code { return Code{Value: uint16(hi<<4 | lo)} }

func digit(c byte) int {
	if c >= 'a' {
		return int(c-'a') + 10
	}
	return int(c - '0')
}

// Read decodes one code word.
func (t *Table) Read(r *bits.Reader) Code {
	c := t.primary[r.Peek(primaryBits)]
	if c.Length < 0 {
		c = t.long(r, c)
	}
	r.At += int(c.Length)
	return c
}

func (t *Table) long(r *bits.Reader, c Code) Code {
	width := int(-c.Length)
	v := r.Peek(primaryBits+width) & (1<<width - 1)
	return t.secondary[int(c.Value)+int(v)]
}
