package vorbis

import (
	"encoding/binary"
	"math/bits"
)

// bitReader reads bits, low ones of a byte first. Beyond the end it reads zeros
// and has failed.
type bitReader struct {
	b      []byte
	have   uint64 // bits taken out of b and not yet read
	n      int    // how many
	failed bool
}

// fill makes at least 32 bits ready, as far as there are.
func (r *bitReader) fill() {
	if len(r.b) >= 8 {
		r.have |= binary.LittleEndian.Uint64(r.b) << r.n
		k := (63 - r.n) >> 3
		r.b = r.b[k:]
		r.n += 8 * k
		return
	}
	for r.n <= 56 && len(r.b) > 0 {
		r.have |= uint64(r.b[0]) << r.n
		r.b = r.b[1:]
		r.n += 8
	}
}

// read returns the next n bits, at most 32.
func (r *bitReader) read(n int) uint32 {
	if r.n < n {
		r.fill()
	}
	v := uint32(r.have & (1<<n - 1))
	r.skip(n)
	return v
}

// skip passes over n bits that fill has made ready.
func (r *bitReader) skip(n int) {
	if r.n < n {
		r.failed, r.have, r.n, r.b = true, 0, 0, nil
		return
	}
	r.have >>= n
	r.n -= n
}

// bitsFor is the number of bits that v needs.
func bitsFor(v int) int { return bits.Len(uint(v)) }
