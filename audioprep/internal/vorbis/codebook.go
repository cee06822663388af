package vorbis

import (
	"errors"
	"math"
	"math/bits"
	"sort"
)

// codebook is a Huffman code for the numbers of entries, each of which may stand
// for a vector (section 3).
type codebook struct {
	dimensions int
	entries    int
	fast       []int32    // for each value of the next fastBits bits: entry<<6 | length, -1: longer or none
	long       []longCode // the longer ones, by code
	vectors    []float32  // [entries][dimensions], nil: none
}

// longCode is a code of more than fastBits.
type longCode struct {
	code   uint32 // first bit at the top
	length uint8
	entry  int32
}

const (
	fastBits = 10
	// maxEntries and maxValues bound what the codebooks of a stream may ask for:
	// a few bits of header can describe millions. libvorbis's encoder uses less
	// than a tenth.
	maxEntries = 1 << 17
	maxValues  = 1 << 20
)

var (
	errCodebook = errors.New("the setup header's codebooks are damaged")
	errTooLarge = errors.New("the setup header's codebooks are larger than any encoder makes them")
)

// readCodebook reads a codebook. entries and values are what is left of the
// bounds.
func readCodebook(r *bitReader, entries, values *int) (*codebook, error) {
	if r.read(24) != 0x564342 {
		return nil, errCodebook
	}
	c := &codebook{dimensions: int(r.read(16)), entries: int(r.read(24))}
	if *entries -= c.entries; *entries < 0 {
		return nil, errTooLarge
	}
	lengths, err := c.readLengths(r)
	if err != nil {
		return nil, err
	}
	if err := c.assign(lengths); err != nil {
		return nil, err
	}
	return c, c.readVectors(r, values)
}

// readLengths reads the length of each entry's code, 0: it has none.
func (c *codebook) readLengths(r *bitReader) ([]uint8, error) {
	lengths := make([]uint8, c.entries)
	if r.read(1) == 1 { // ordered by length
		length := r.read(5) + 1
		for at := 0; at < c.entries; length++ {
			n := int(r.read(bitsFor(c.entries - at)))
			if length > 32 || n > c.entries-at || r.failed {
				return nil, errCodebook
			}
			for range n {
				lengths[at] = uint8(length)
				at++
			}
		}
		return lengths, nil
	}
	sparse := r.read(1) == 1
	for i := range lengths {
		if !sparse || r.read(1) == 1 {
			lengths[i] = uint8(r.read(5) + 1)
		}
		if r.failed {
			return nil, errCodebook
		}
	}
	return lengths, nil
}

// assign gives each entry the lowest code of its length that is no longer one's
// beginning (section 3.2.1).
func (c *codebook) assign(lengths []uint8) error {
	c.fast = make([]int32, 1<<fastBits)
	for i := range c.fast {
		c.fast[i] = -1
	}
	// free[n] is the free code of n bits, first bit at the top of 32; at most
	// one of each length is needed, since codes are taken in order.
	var free [33]uint32
	var isFree [33]bool
	isFree[0] = true
	used, last := 0, 0
	for entry, n := range lengths {
		if n == 0 {
			continue
		}
		used, last = used+1, entry
		from := int(n)
		for from >= 0 && !isFree[from] {
			from--
		}
		if from < 0 {
			return errCodebook // more codes than there can be
		}
		code := free[from]
		isFree[from] = false
		for k := from + 1; k <= int(n); k++ {
			free[k], isFree[k] = code|1<<(32-k), true
		}
		c.add(code, n, int32(entry))
	}
	if used == 1 && lengths[last] == 1 { // whatever its one bit is
		c.add(1<<31, 1, int32(last))
	}
	sort.Slice(c.long, func(i, j int) bool { return c.long[i].code < c.long[j].code })
	return nil
}

func (c *codebook) add(code uint32, length uint8, entry int32) {
	if length > fastBits {
		c.long = append(c.long, longCode{code, length, entry})
		return
	}
	for v := bits.Reverse32(code); v < 1<<fastBits; v += 1 << length {
		c.fast[v] = entry<<6 | int32(length)
	}
}

// entry decodes the number of an entry; -1 at the end of the packet or where no
// code is.
func (c *codebook) entry(r *bitReader) int {
	if r.n < 32 {
		r.fill()
	}
	if v := c.fast[r.have&(1<<fastBits-1)]; v >= 0 {
		r.skip(int(v & 63))
		if r.failed {
			return -1
		}
		return int(v >> 6)
	}
	code := bits.Reverse32(uint32(r.have))
	i := sort.Search(len(c.long), func(i int) bool { return c.long[i].code > code }) - 1
	if i < 0 || (code^c.long[i].code)>>(32-c.long[i].length) != 0 {
		r.failed = true
		return -1
	}
	r.skip(int(c.long[i].length))
	if r.failed {
		return -1
	}
	return int(c.long[i].entry)
}

// vector decodes a vector; nil where entry gives -1.
func (c *codebook) vector(r *bitReader) []float32 {
	n := c.entry(r)
	if n < 0 || c.vectors == nil {
		return nil
	}
	return c.vectors[n*c.dimensions:][:c.dimensions]
}

// readVectors reads the vectors, which are built of a few values (section 3.2.1,
// "lookup").
func (c *codebook) readVectors(r *bitReader, values *int) error {
	kind := r.read(4)
	if kind == 0 {
		return nil
	}
	if kind > 2 || c.dimensions == 0 {
		return errCodebook
	}
	if *values -= c.entries * c.dimensions; *values < 0 {
		return errTooLarge
	}
	minimum, delta := unpackFloat(r.read(32)), unpackFloat(r.read(32))
	width := int(r.read(4)) + 1
	sequence := r.read(1) == 1
	n := c.entries * c.dimensions
	if kind == 1 {
		n = latticeSide(c.entries, c.dimensions)
	}
	steps := make([]float32, n)
	for i := range steps {
		steps[i] = float32(r.read(width))
		if r.failed {
			return errCodebook
		}
	}
	c.vectors = make([]float32, c.entries*c.dimensions)
	for e := range c.entries {
		last, place := float32(0), 1
		v := c.vectors[e*c.dimensions:][:c.dimensions]
		for i := range v {
			at := e*c.dimensions + i
			if kind == 1 {
				at = e / place % n
				place = min(place*n, c.entries) // beyond, every quotient is 0 or 1 as well as it matters
			}
			v[i] = steps[at]*delta + minimum + last
			if sequence {
				last = v[i]
			}
		}
	}
	return nil
}

// latticeSide is the largest n whose power of so many dimensions is no more than
// entries.
func latticeSide(entries, dimensions int) int {
	n := int(math.Pow(float64(entries), 1/float64(dimensions)))
	power := func(n int) int {
		p := 1
		for range dimensions {
			if p *= n; p > entries {
				break
			}
		}
		return p
	}
	for power(n+1) <= entries && n < entries {
		n++
	}
	for n > 0 && power(n) > entries {
		n--
	}
	return n
}

// unpackFloat reads the specification's own form of floats (section 9.2.2).
func unpackFloat(v uint32) float32 {
	mantissa := float64(v & 0x1fffff)
	if v>>31 == 1 {
		mantissa = -mantissa
	}
	return float32(math.Ldexp(mantissa, int(v>>21&0x3ff)-788))
}
