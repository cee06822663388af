package aac

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

// peek returns the next n bits, 1 to 32, without moving.
func (r *bitReader) peek(n int) uint32 {
	i := r.at >> 3
	if i+8 > len(r.b) {
		return 0
	}
	v := binary.BigEndian.Uint64(r.b[i:]) << (r.at & 7)
	return uint32(v >> (64 - n))
}

// take returns the next n bits, 0 to 32.
func (r *bitReader) take(n int) int {
	if n == 0 {
		return 0
	}
	v := r.peek(n)
	r.at += n
	return int(v)
}

func (r *bitReader) flag() bool { return r.take(1) == 1 }

// align moves to the next whole byte.
func (r *bitReader) align() { r.at = (r.at + 7) &^ 7 }
