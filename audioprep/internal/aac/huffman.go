package aac

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
	signs  uint8  // how many sign bits follow, for the unsigned books
	value  uint16 // four lines of four bits, two of eight, or a scale factor
}

const primaryBits = 9

// newCodeTable builds a table from the leaves of the code's tree, left to right,
// each as its depth in base 36 and two digits, which value turns into what they
// stand for. Since the trees are complete, depths alone give the codes.
func newCodeTable(leaves string, value func(hi, lo int) code) *codeTable {
	t := new(codeTable)
	at := uint32(0) // the next code, left-aligned in 32 bits
	for i := 0; i < len(leaves); i += 3 {
		n := digit(leaves[i])
		c := value(digit(leaves[i+1]), digit(leaves[i+2]))
		c.length = int8(n)
		if n <= primaryBits {
			from := at >> (32 - primaryBits)
			for k := range uint32(1) << (primaryBits - n) {
				t.primary[from+k] = c
			}
		} else {
			t.addLong(leaves[i:], at, n, c)
		}
		at += 1 << (32 - n)
	}
	return t
}

// addLong enters a code longer than primaryBits. rest is the leaves from this
// one on: the first below a primary entry makes room for all below it.
func (t *codeTable) addLong(rest string, at uint32, n int, c code) {
	p := &t.primary[at>>(32-primaryBits)]
	if p.length == 0 {
		deepest, filled := 0, 0.0
		for i := 0; i < len(rest) && filled < 1; i += 3 {
			d := digit(rest[i]) - primaryBits
			deepest = max(deepest, d)
			filled += 1 / float64(int(1)<<d)
		}
		*p = code{length: int8(-deepest), value: uint16(len(t.secondary))}
		t.secondary = append(t.secondary, make([]code, 1<<deepest)...)
	}
	width := int(-p.length)
	from := uint32(p.value) + at<<primaryBits>>(32-width)
	for k := range uint32(1) << (width + primaryBits - n) {
		t.secondary[from+k] = c
	}
}

func digit(c byte) int {
	if c >= 'a' {
		return int(c-'a') + 10
	}
	return int(c - '0')
}

// read decodes one code.
func (t *codeTable) read(r *bitReader) code {
	c := t.primary[r.peek(primaryBits)]
	if c.length < 0 {
		width := int(-c.length)
		v := r.peek(primaryBits+width) & (1<<width - 1)
		c = t.secondary[uint32(c.value)+v]
	}
	r.at += int(c.length)
	return c
}

// scaleOffset is what stands for a difference of 0 between scale factors.
const scaleOffset = 60

var scaleCode = newCodeTable(scaleLeaves, func(hi, lo int) code {
	return code{value: uint16(hi<<4 | lo)}
})

// Codebooks of a band (table 4.151). 1 to 11 code lines; 1 and 2, 5 and 6 with their
// sign, the others without.
const (
	bookZero       = 0
	bookFirstPair  = 5
	bookEscape     = 11
	bookReserved   = 12
	bookNoise      = 13
	bookIntensity2 = 14 // out of phase
	bookIntensity  = 15 // in phase
)

// spectrumCodes are the codebooks 1 to 11. Signed values are moved up to be
// positive: see bookOffset.
var spectrumCodes = func() (t [12]*codeTable) {
	for book, leaves := range spectrumLeaves {
		switch {
		case book == 0:
		case book < bookFirstPair:
			t[book] = newCodeTable(leaves, func(hi, lo int) code {
				var c code
				for i, v := 0, hi<<4|lo; i < 4; i, v = i+1, v/3 {
					c.value |= uint16(v%3) << (4 * i)
					if v%3 != 0 {
						c.signs++
					}
				}
				return c
			})
		default:
			t[book] = newCodeTable(leaves, func(hi, lo int) code {
				c := code{value: uint16(hi<<8 | lo)}
				for _, v := range [2]int{hi, lo} {
					if v != 0 {
						c.signs++
					}
				}
				return c
			})
		}
	}
	return t
}()

// bookOffset is what the values of the signed books are moved up by.
var bookOffset = [12]int16{1: 1, 2: 1, 5: 4, 6: 4}
