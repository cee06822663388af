package cuda

import (
	"cmp"
	"fmt"
	"slices"

	"hark/engine"
)

// alignment is that of every block, in bytes: a kernel may read 16 bytes at once, and a warp's line is 128.
const alignment = 256

// OutOfMemoryError says that the GPU has no room for a buffer.
type OutOfMemoryError struct {
	Want  int64 // bytes asked for
	Free  int64 // bytes that are free in all, though maybe not in one piece
	Limit int64 // bytes that may be used
}

func (e *OutOfMemoryError) Error() string {
	return fmt.Sprintf("out of GPU memory: %d MiB were asked for, %d of %d MiB are free",
		ceilDiv64(e.Want, 1<<20), e.Free>>20, e.Limit>>20)
}

// Unwrap says what kind of error it is to those who know devices only.
func (e *OutOfMemoryError) Unwrap() error { return engine.ErrOutOfMemory }

func ceilDiv64(a, b int64) int64 { return (a + b - 1) / b }

// arena hands out blocks of regions, which it gets from below. It knows addresses but never touches memory.
type arena struct {
	regionBytes int64
	newRegion   func(bytes int64) (address uint64, err error)
	endRegion   func(address uint64) error

	regions []*region
	used    int64 // bytes in blocks
}

// region is a stretch of memory. Its free spans are sorted by place and never touch.
type region struct {
	address uint64
	bytes   int64
	free    []span
}

// span is a stretch of a region.
type span struct{ from, to int64 }

// block is memory that was handed out.
type block struct {
	region  *region
	address uint64
	bytes   int64
}

// alloc hands out a block: the tightest fit there is, or one in a new region.
func (a *arena) alloc(bytes int64) (block, error) {
	bytes = max(alignment, (bytes+alignment-1)/alignment*alignment)
	var best *region
	at := 0
	for _, r := range a.regions {
		for i, s := range r.free {
			if n := s.to - s.from; n >= bytes && (best == nil || n < best.free[at].to-best.free[at].from) {
				best, at = r, i
			}
		}
	}
	if best == nil {
		r, err := a.grow(bytes)
		if err != nil {
			return block{}, err
		}
		best, at = r, 0
	}
	s := &best.free[at]
	b := block{best, best.address + uint64(s.from), bytes}
	if s.from += bytes; s.from == s.to {
		best.free = slices.Delete(best.free, at, at+1)
	}
	a.used += bytes
	return b, nil
}

// grow adds a region that holds so many bytes, of the usual size if there is room for it.
func (a *arena) grow(bytes int64) (*region, error) {
	size := max(bytes, a.regionBytes)
	address, err := a.newRegion(size)
	if err != nil && size > bytes {
		size = bytes
		address, err = a.newRegion(size)
	}
	if err != nil {
		return nil, err
	}
	r := &region{address: address, bytes: size, free: []span{{0, size}}}
	a.regions = append(a.regions, r)
	return r, nil
}

// release takes a block back. A region without blocks goes back below.
func (a *arena) release(b block) error {
	r := b.region
	from := int64(b.address - r.address)
	i, _ := slices.BinarySearchFunc(r.free, from, func(s span, from int64) int { return cmp.Compare(s.from, from) })
	r.free = slices.Insert(r.free, i, span{from, from + b.bytes})
	if i+1 < len(r.free) && r.free[i].to == r.free[i+1].from {
		r.free[i].to = r.free[i+1].to
		r.free = slices.Delete(r.free, i+1, i+2)
	}
	if i > 0 && r.free[i-1].to == r.free[i].from {
		r.free[i-1].to = r.free[i].to
		r.free = slices.Delete(r.free, i, i+1)
	}
	a.used -= b.bytes
	if len(r.free) == 1 && r.free[0].to-r.free[0].from == r.bytes {
		a.regions = slices.DeleteFunc(a.regions, func(other *region) bool { return other == r })
		return a.endRegion(r.address)
	}
	return nil
}

// held is how many bytes the regions have.
func (a *arena) held() int64 {
	n := int64(0)
	for _, r := range a.regions {
		n += r.bytes
	}
	return n
}
