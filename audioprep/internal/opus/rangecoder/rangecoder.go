// Package rangecoder reads the symbols of an Opus frame (RFC 6716, section 4.1).
//
// A frame is one large number, the place inside an interval that each symbol
// narrows: in proportion to its probability, from the front of the bytes. Bits of
// equal probability lie apart, from the end of the bytes backwards; both may meet in
// the middle. Behind the end all bytes are 0, so that every frame can be read.
package rangecoder

import "math/bits"

const (
	codeTop    = 1 << 31
	codeBottom = 1 << 23
	extraBits  = 7 // of the first byte that the first symbol sees
)

// Decoder reads one frame. It holds no memory but the frame.
type Decoder struct {
	buf   []byte
	front int // bytes read from the beginning
	back  int // bytes read from the end

	size   uint32 // of the interval
	value  uint32 // from the frame's place up to the interval's top
	unit   uint32 // of the frequencies of the symbol under way
	last   uint32 // the byte that is only partly used
	window uint64 // bits read from the end, not yet used
	ready  int    // how many
	used   int    // bits used, those of the interval rounded up
}

// Init begins a frame, which must stay as it is while it is read.
func (d *Decoder) Init(frame []byte) {
	*d = Decoder{buf: frame, size: 1 << extraBits, used: 32 + 1 - 24}
	d.last = d.next()
	d.value = d.size - 1 - d.last>>(8-extraBits)
	d.normalize()
}

func (d *Decoder) next() uint32 {
	if d.front >= len(d.buf) {
		return 0
	}
	d.front++
	return uint32(d.buf[d.front-1])
}

func (d *Decoder) normalize() {
	for d.size <= codeBottom {
		d.used += 8
		d.size <<= 8
		v := d.last << 8
		d.last = d.next()
		v = (v | d.last) >> (8 - extraBits)
		d.value = (d.value<<8 + 255&^v) & (codeTop - 1)
	}
}

// Bit reads a bit that is 1 with a probability of 1/2^log.
func (d *Decoder) Bit(log int) int {
	part := d.size >> log
	if d.value < part {
		d.size = part
		d.normalize()
		return 1
	}
	d.value -= part
	d.size -= part
	d.normalize()
	return 0
}

// Symbol reads a symbol. code tells of each symbol how probable all behind it are, in
// 1/2^log; the last is 0.
func (d *Decoder) Symbol(code []uint8, log int) int {
	unit := d.size >> log
	above := d.size
	for k, v := range code {
		below := unit * uint32(v)
		if d.value >= below {
			d.value -= below
			d.size = above - below
			d.normalize()
			return k
		}
		above = below
	}
	return len(code) - 1
}

// Frequency returns a number below total that falls into the frequencies of the next
// symbol, which Narrow then takes.
func (d *Decoder) Frequency(total uint32) uint32 {
	d.unit = d.size / total
	return total - min(d.value/d.unit+1, total)
}

// Narrow takes the symbol with the frequencies from low up to high of total.
func (d *Decoder) Narrow(low, high, total uint32) {
	above := d.unit * (total - high)
	d.value -= above
	if low > 0 {
		d.size = d.unit * (high - low)
	} else {
		d.size -= above
	}
	d.normalize()
}

// Uint reads a number below n, all being equally probable. n is at least 2.
func (d *Decoder) Uint(n uint32) uint32 {
	const coded = 8 // bits; the rest are raw
	most := n - 1
	rest := bits.Len32(most) - coded
	if rest <= 0 {
		v := d.Frequency(n)
		d.Narrow(v, v+1, n)
		return v
	}
	total := most>>rest + 1
	v := d.Frequency(total)
	d.Narrow(v, v+1, total)
	return min(v<<rest|d.Bits(rest), most)
}

// Bits reads n bits from the end of the frame, at most 25.
func (d *Decoder) Bits(n int) uint32 {
	for d.ready < n {
		var v uint64
		if d.back < len(d.buf) {
			d.back++
			v = uint64(d.buf[len(d.buf)-d.back])
		}
		d.window |= v << d.ready
		d.ready += 8
	}
	v := uint32(d.window & (1<<n - 1))
	d.window >>= n
	d.ready -= n
	d.used += n
	return v
}

// Tell is how many bits have been used, rounded up.
func (d *Decoder) Tell() int { return d.used - bits.Len32(d.size) }

// TellEighths is how many bits have been used, in 1/8.
func (d *Decoder) TellEighths() int {
	l := bits.Len32(d.size)
	r := d.size >> (l - 16)
	b := r>>12 - 8
	if r > eighths[b] {
		b++
	}
	return d.used<<3 - (l<<3 + int(b))
}

// eighths are 2^15 · 2^((2k+1)/16), rounded: where log2 of a 16-bit number comes to
// the next eighth.
var eighths = [8]uint32{35733, 38967, 42495, 46340, 50535, 55109, 60097, 65535}

// Size is the number of bytes of the frame.
func (d *Decoder) Size() int { return len(d.buf) }

// Shrink cuts n bytes off the frame's end, before any bits were read from there.
func (d *Decoder) Shrink(n int) { d.buf = d.buf[:len(d.buf)-n] }

// Finish takes all bits that are left as used.
func (d *Decoder) Finish() { d.used += 8*len(d.buf) - d.Tell() }

// Range is the size of the interval: at a frame's end a number that no encoder could
// know before, and both sides know.
func (d *Decoder) Range() uint32 { return d.size }
