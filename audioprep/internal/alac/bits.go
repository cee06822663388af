package alac

import "encoding/binary"

// bitReader reads bits, high ones first. Behind the end it reads zeros; whoever
// reads in a loop must compare at with end.
type bitReader struct {
	b   []byte // with bitSlack bytes of zeros behind the data
	at  int    // in bits
	end int    // in bits
}

// bitSlack lets peek load eight bytes wherever it may.
const bitSlack = 8

// peek returns the next 32 bits without moving.
func (r *bitReader) peek() uint32 {
	i := r.at >> 3
	if i+8 > len(r.b) {
		return 0
	}
	return uint32(binary.BigEndian.Uint64(r.b[i:]) << (r.at & 7) >> 32)
}

// take returns the next n bits, 0 to 32.
func (r *bitReader) take(n int) int {
	v := uint64(r.peek()) >> (32 - n)
	r.at += n
	return int(v)
}
