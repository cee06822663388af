package audioprep

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// EBML is the binary XML that Matroska is written in (RFC 8794): elements of an
// ID, a size and that many bytes, which may be elements again. IDs and sizes are
// numbers of one to eight bytes, whose leading zeros say how many.

// unknownSize is the size of an element that ends where one begins that cannot
// be inside: what is written to a stream is closed by no one.
const unknownSize = -1

// ebmlNumber reads a number, with its length marker if marked. n is its length,
// 0 if it is not there.
func ebmlNumber(b []byte, marked bool) (v uint64, n int) {
	if len(b) == 0 || b[0] == 0 {
		return 0, 0
	}
	n = bits.LeadingZeros8(b[0]) + 1
	if len(b) < n {
		return 0, 0
	}
	v = uint64(b[0])
	if !marked {
		v &= 1<<(8-n) - 1
	}
	for _, c := range b[1:n] {
		v = v<<8 | uint64(c)
	}
	return v, n
}

// maxEBMLHeader is the longest ID and size.
const maxEBMLHeader = 4 + 8

// ebmlHeader reads an element's ID and size; n is their length, 0 if they are
// none.
func ebmlHeader(b []byte) (id uint32, size int64, n int) {
	v, k := ebmlNumber(b, true)
	if k == 0 || k > 4 {
		return 0, 0, 0
	}
	u, m := ebmlNumber(b[k:], false)
	if m == 0 {
		return 0, 0, 0
	}
	size = int64(u)
	if u == 1<<(7*m)-1 {
		size = unknownSize
	}
	return uint32(v), size, k + m
}

// ebmlChildren calls f for each element in b, until one does not fit.
func ebmlChildren(b []byte, f func(id uint32, body []byte)) {
	for {
		id, size, n := ebmlHeader(b)
		if n == 0 || size < 0 || size > int64(len(b)-n) {
			return
		}
		f(id, b[n:n+int(size)])
		b = b[n+int(size):]
	}
}

// ebmlUint reads the body of an unsigned integer.
func ebmlUint(b []byte) (v uint64) {
	for _, c := range b[:min(8, len(b))] {
		v = v<<8 | uint64(c)
	}
	return v
}

// ebmlInt reads the body of a signed integer.
func ebmlInt(b []byte) int64 {
	n := min(8, len(b))
	if n == 0 {
		return 0
	}
	shift := 64 - 8*n
	return int64(ebmlUint(b)<<shift) >> shift
}

// ebmlFloat reads the body of a float of four or eight bytes.
func ebmlFloat(b []byte) float64 {
	switch len(b) {
	case 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	case 8:
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return 0
}
