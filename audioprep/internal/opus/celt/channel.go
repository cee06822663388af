package celt

import "math"

// A band's blocks can be joined two and two, for finer resolution in frequency, or divided
// for such in time (section 4.3.4.5). What it is filled with is changed first, and the
// shape that was read is changed back.

// change is how the blocks of a band are changed.
type change struct {
	joined  int  // times
	divided int  // times
	blocks  int  // after it
	long    bool // there was one block before
}

// changeOf is the change of a band of n bins.
func (r *bandReader) changeOf(n, blocks int) change {
	c := change{joined: max(0, r.resolution), long: blocks == 1}
	each := n / blocks << c.joined
	c.blocks = blocks >> c.joined
	for c.divided < -r.resolution && each&1 == 0 {
		c.divided++
		c.blocks <<= 1
		each >>= 1
	}
	return c
}

// apply changes x to the order of blocks, one after the other.
func (r *bandReader) apply(c change, x []float32) {
	for k := range c.joined {
		haar(x, 1<<k)
	}
	for k := c.divided; k > 0; k-- {
		haar(x, c.blocks>>k)
	}
	if c.blocks > 1 {
		r.byTime(x, c.blocks<<c.joined, c.long)
	}
}

// fill changes what tells which blocks are not empty.
func (c change) fill(mask uint) uint {
	for range c.joined {
		mask = uint(joinBits[mask&15]) | uint(joinBits[mask>>4])<<2
	}
	for k := c.divided; k > 0; k-- {
		mask |= mask << (c.blocks >> k)
	}
	return mask
}

// undo is apply, backwards, and returns the blocks before of mask.
func (r *bandReader) undo(c change, x []float32, mask uint) uint {
	if c.blocks > 1 {
		r.byFrequency(x, c.blocks<<c.joined, c.long)
	}
	for k := 1; k <= c.divided; k++ {
		mask |= mask >> (c.blocks >> k)
		haar(x, c.blocks>>k)
	}
	for k := range c.joined {
		mask = uint(divideBits[mask])
		haar(x, 1<<k)
	}
	return mask & (1<<(c.blocks>>c.divided<<c.joined) - 1)
}

// joinBits and divideBits say for the blocks before what holds for those after joining two
// and two, and the other way (bands.c, bit_interleave_table and bit_deinterleave_table).
var (
	joinBits   = [16]uint8{0, 1, 1, 1, 2, 3, 3, 3, 2, 3, 3, 3, 2, 3, 3, 3}
	divideBits = [16]uint8{
		0x00, 0x03, 0x0c, 0x0f, 0x30, 0x33, 0x3c, 0x3f,
		0xc0, 0xc3, 0xcc, 0xcf, 0xf0, 0xf3, 0xfc, 0xff,
	}
)

// readChannel reads a band of one channel. from is what to fill it with, nil: noise; fill
// tells which of its blocks are not empty. keep, unless nil, takes the result to fill
// others with. gain is the length of x.
func (r *bandReader) readChannel(x []float32, bits, blocks int, from, keep []float32, gain float32, fill uint) uint {
	n := len(x)
	if n == 1 {
		return r.readSigns(x, nil, keep)
	}
	c := r.changeOf(n, blocks)
	if from != nil {
		copy(r.lower[:n], from)
		from = r.lower[:n]
		r.apply(c, from)
	}
	mask := r.readPart(x, bits, c.blocks, from, r.f.log, gain, c.fill(fill))
	mask = r.undo(c, x, mask)
	if keep != nil {
		scale := float32(math.Sqrt(float64(n)))
		for i, v := range x {
			keep[i] = scale * v
		}
	}
	return mask
}

// readSigns reads a band of one bin a channel.
func (r *bandReader) readSigns(x, y, keep []float32) uint {
	for _, v := range [][]float32{x, y} {
		if v == nil {
			continue
		}
		v[0] = 1
		if r.left >= 8 {
			if r.rc.Bits(1) == 1 {
				v[0] = -1
			}
			r.left -= 8
		}
	}
	if keep != nil {
		keep[0] = x[0]
	}
	return 1
}
