package celt

import (
	"math"

	"hark/audioprep/internal/opus/rangecoder"
)

// The shape of a band is a vector of unit length (section 4.3.4): a band with too many bits
// for one vector is divided in two, and so on; one with too few is filled with what lies
// below it in the spectrum (folding), or with noise. Bits that a band leaves over go to
// those behind it.

// bandReader reads the shapes of a frame.
type bandReader struct {
	rc   *rangecoder.Decoder
	f    *frame
	mono bool // output has one channel
	seed uint32

	band       int
	left       int // bits of the frame, in 1/8
	resolution int // of the band
	dual       bool

	shape  [2][]float32        // of each channel, [bins of the frame]
	folded [2][maxBins]float32 // the same, as later bands are filled with it
	masks  [2][bands]uint      // which blocks of a band are not empty
	lower  [maxWidth]float32   // what a band is filled with, changed to its resolution
	other  [maxWidth]float32   // for reordering
}

// read reads the shapes of all bands.
func (r *bandReader) read() {
	f := r.f
	total := 8*r.rc.Size()<<3 - r.collapseBits()
	blocks := 1
	if f.transient {
		blocks = 1 << f.log
	}
	balance := f.balance
	r.dual = f.dual
	below, update := 0, true // the band to fill from
	first := bandEdges[f.start] << f.log
	for i := f.start; i < f.end; i++ {
		r.band, r.resolution = i, f.resolution[i]
		tell := r.rc.TellEighths()
		if i != f.start {
			balance -= tell
		}
		r.left = total - tell - 1
		bits := 0
		if i < f.coded {
			bits = f.shapeBits[i] + balance/min(3, f.coded-i)
			bits = max(0, min(16383, r.left+1, bits))
		}
		at, n := bandEdges[i]<<f.log, f.width(i)
		if (at-n >= first || i == f.start+1) && (update || below == 0) {
			below = i
		}
		if i == f.start+1 {
			r.repeatFirst()
		}
		from := -1 // in bins
		var fill [2]uint
		if below != 0 && (f.spread != spreadMost || blocks > 1 || r.resolution < 0) {
			from = max(first, bandEdges[below]<<f.log-n)
			fill = r.fillMasks(below, from, n)
		} else {
			fill = [2]uint{1<<blocks - 1, 1<<blocks - 1}
		}
		if r.dual && i == f.intensity {
			r.dual = false
			for k, v := range r.folded[1][first:at] {
				r.folded[0][first+k] = (r.folded[0][first+k] + v) / 2
			}
		}
		r.readBand(at, n, bits, blocks, from, fill)
		balance += f.shapeBits[i] + tell
		update = bits > n<<3
	}
}

func (r *bandReader) collapseBits() int {
	if r.f.collapseBit {
		return 8
	}
	return 0
}

// repeatFirst makes the first band of a hybrid frame long enough to fill the second
// (RFC 8251, section 9).
func (r *bandReader) repeatFirst() {
	f := r.f
	first, n1, n2 := bandEdges[f.start]<<f.log, f.width(f.start), f.width(f.start+1)
	if n2 <= n1 {
		return
	}
	for c := range f.channels {
		x := r.folded[c][first:]
		copy(x[n1:n2], x[2*n1-n2:n1])
	}
}

// fillMasks are the blocks that are not empty in the bands that a band of n bins is filled
// from.
func (r *bandReader) fillMasks(below, from, n int) (fill [2]uint) {
	f := r.f
	start := below - 1
	for bandEdges[start]<<f.log > from {
		start--
	}
	end := below
	for end < r.band && bandEdges[end]<<f.log < from+n {
		end++
	}
	for i := start; i < end; i++ {
		fill[0] |= r.masks[0][i]
		fill[1] |= r.masks[f.channels-1][i]
	}
	return fill
}

// readBand reads one band of all channels.
func (r *bandReader) readBand(at, n, bits, blocks, from int, fill [2]uint) {
	f := r.f
	last := r.band == f.end-1
	source := func(c int) []float32 {
		if from < 0 {
			return nil
		}
		return r.folded[c][from:][:n]
	}
	keep := func(c int) []float32 {
		if last {
			return nil
		}
		return r.folded[c][at:][:n]
	}
	x := r.shape[0][at:][:n]
	var mask [2]uint
	switch {
	case f.channels == 1:
		mask[0] = r.readChannel(x, bits, blocks, source(0), keep(0), 1, fill[0]|fill[1])
		mask[1] = mask[0]
	case r.dual:
		mask[0] = r.readChannel(x, bits/2, blocks, source(0), keep(0), 1, fill[0])
		mask[1] = r.readChannel(r.shape[1][at:][:n], bits/2, blocks, source(1), keep(1), 1, fill[1])
	default:
		mask[0] = r.readStereo(x, r.shape[1][at:][:n], bits, blocks, source(0), keep(0), fill[0]|fill[1])
		mask[1] = mask[0]
	}
	r.masks[0][r.band], r.masks[1][r.band] = mask[0], mask[1]
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

// readChannel reads a band of one channel: its blocks are joined or divided as the
// resolution says, read in order of time, and put back. from is what to fill it with, nil:
// noise; keep, unless nil, takes the result for that of others. gain is its length, fill
// the blocks of from that are not empty.
func (r *bandReader) readChannel(x []float32, bits, blocks int, from, keep []float32, gain float32, fill uint) uint {
	n := len(x)
	if n == 1 {
		return r.readSigns(x, nil, keep)
	}
	long := blocks == 1
	each := n / blocks
	joined := max(0, r.resolution)
	divided := 0
	if from != nil && (joined > 0 || each&1 == 0 && r.resolution < 0 || blocks > 1) {
		copy(r.lower[:n], from)
		from = r.lower[:n]
	}
	for k := range joined {
		if from != nil {
			haar(from, 1<<k)
		}
		fill = uint(joinBits[fill&15]) | uint(joinBits[fill>>4])<<2
	}
	blocks >>= joined
	each <<= joined
	for change := r.resolution; each&1 == 0 && change < 0; change++ {
		if from != nil {
			haar(from, blocks)
		}
		fill |= fill << blocks
		blocks <<= 1
		each >>= 1
		divided++
	}
	if blocks > 1 && from != nil {
		r.byTime(from, blocks<<joined, long)
	}
	mask := r.readPart(x, bits, blocks, from, r.f.log, gain, fill)
	if blocks > 1 {
		r.byFrequency(x, blocks<<joined, long)
	}
	for range divided {
		blocks >>= 1
		mask |= mask >> blocks
		haar(x, blocks)
	}
	for k := range joined {
		mask = uint(divideBits[mask])
		haar(x, 1<<k)
	}
	blocks <<= joined
	if keep != nil {
		scale := float32(math.Sqrt(float64(n)))
		for i, v := range x {
			keep[i] = scale * v
		}
	}
	return mask & (1<<blocks - 1)
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

// readPart reads a band or a part of one, dividing it where it has too many bits for one
// vector.
func (r *bandReader) readPart(x []float32, bits, blocks int, from []float32, log int, gain float32, fill uint) uint {
	n := len(x)
	costs := costs[n]
	if log == -1 || n == 2 || bits <= int(costs[len(costs)-1])+12 {
		return r.readWhole(x, costs, bits, blocks, from, gain, fill)
	}
	n /= 2
	log--
	before := blocks
	if blocks == 1 {
		fill = fill&1 | fill<<1
	}
	blocks = (blocks + 1) / 2
	a := r.readAngle(n, bits, before, log, false)
	bits -= a.used
	fill = fillFor(fill, blocks, a.theta)
	if before > 1 && a.theta&0x3fff != 0 {
		if a.theta > rightAngle/2 {
			a.delta -= a.delta >> (4 - log) // before a louder block little is heard
		} else {
			a.delta = min(0, a.delta+n<<3>>(5-log)) // nor behind it
		}
	}
	var second []float32
	if from != nil {
		from, second = from[:n], from[n:]
	}
	read := func(part, bits int) uint {
		if part == 0 {
			return r.readPart(x[:n], bits, blocks, from, log, gain*a.mid, fill)
		}
		return r.readPart(x[n:], bits, blocks, second, log, gain*a.side, fill>>blocks) << (before / 2)
	}
	return r.readTwo(bits, a, read)
}

// readTwo reads the two parts of a shape, first the one with more bits: what it leaves goes
// to the other.
func (r *bandReader) readTwo(bits int, a angle, read func(part, bits int) uint) uint {
	first := max(0, min(bits, (bits-a.delta)/2))
	parts := [2]int{first, bits - first}
	r.left -= a.used
	k := 0    // the part to read first
	none := 0 // the angle at which the other is empty
	if parts[0] < parts[1] {
		k, none = 1, rightAngle
	}
	left := r.left
	mask := read(k, parts[k])
	rest := parts[k] - (left - r.left)
	if rest > 3<<3 && a.theta != none {
		parts[1-k] += rest - 3<<3
	}
	return mask | read(1-k, parts[1-k])
}

// fillFor is what of fill is left where one part of a shape is empty.
func fillFor(fill uint, blocks, theta int) uint {
	switch theta {
	case 0:
		return fill & (1<<blocks - 1)
	case rightAngle:
		return fill & ((1<<blocks - 1) << blocks)
	}
	return fill
}

// readWhole reads one vector, or fills its place.
func (r *bandReader) readWhole(x []float32, costs []uint8, bits, blocks int, from []float32, gain float32, fill uint) uint {
	i := pulsesFor(costs, bits)
	cost := costOf(costs, i)
	for ; cost > r.left && i > 0; cost = costOf(costs, i) {
		i--
	}
	r.left -= cost
	if i > 0 {
		return readShape(r.rc, x, pulseCount(i), r.f.spread, blocks, gain)
	}
	mask := uint(1)<<blocks - 1
	if fill &= mask; fill == 0 {
		clear(x)
		return 0
	}
	if from != nil {
		for i, v := range from[:len(x)] {
			r.seed = random(r.seed)
			x[i] = v - 1./256
			if r.seed&0x8000 != 0 {
				x[i] = v + 1./256
			}
		}
		mask = fill
	} else {
		for i := range x {
			r.seed = random(r.seed)
			x[i] = float32(int32(r.seed) >> 20)
		}
	}
	normalize(x, gain)
	return mask
}

// random is the next of a sequence of random numbers.
func random(seed uint32) uint32 { return seed*1664525 + 1013904223 }

// normalize scales x to length gain.
func normalize(x []float32, gain float32) {
	sum := float32(1e-15)
	for _, v := range x {
		sum += v * v
	}
	gain /= float32(math.Sqrt(float64(sum)))
	for i := range x {
		x[i] *= gain
	}
}

// readStereo reads a band of two channels as mid and side.
func (r *bandReader) readStereo(x, y []float32, bits, blocks int, from, keep []float32, fill uint) uint {
	n := len(x)
	if n == 1 {
		return r.readSigns(x, y, keep)
	}
	a := r.readAngle(n, bits, blocks, r.f.log, true)
	bits -= a.used
	if n == 2 {
		return r.readPair(x, y, bits, blocks, from, keep, fill, a)
	}
	fill = fillFor(fill, blocks, a.theta)
	mask := r.readTwo(bits, a, func(part, bits int) uint {
		if part == 0 {
			return r.readChannel(x, bits, blocks, from, keep, 1, fill)
		}
		return r.readChannel(y, bits, blocks, nil, nil, a.side, fill>>blocks)
	})
	merge(x, y, a.mid)
	if a.inverted {
		negate(y)
	}
	return mask
}

// readPair reads a stereo band of two bins: side, at a right angle to mid, is one bit.
func (r *bandReader) readPair(x, y []float32, bits, blocks int, from, keep []float32, fill uint, a angle) uint {
	sideBit := 0
	if a.theta != 0 && a.theta != rightAngle {
		sideBit = 8
	}
	r.left -= a.used + sideBit
	long, short := x, y
	if a.theta > rightAngle/2 {
		long, short = y, x
	}
	sign := float32(1)
	if sideBit > 0 && r.rc.Bits(1) == 1 {
		sign = -1
	}
	mask := r.readChannel(long, bits-sideBit, blocks, from, keep, 1, fill)
	short[0], short[1] = -sign*long[1], sign*long[0]
	for i := range x {
		mid, side := a.mid*x[i], a.side*y[i]
		x[i], y[i] = mid-side, mid+side
	}
	if a.inverted {
		negate(y)
	}
	return mask
}

func negate(x []float32) {
	for i := range x {
		x[i] = -x[i]
	}
}

// merge turns mid, of unit length, and side into left and right of unit length.
func merge(x, y []float32, mid float32) {
	product, square := float32(0), float32(0)
	for i, v := range y {
		product += x[i] * v
		square += v * v
	}
	product *= mid
	l := mid*mid + square - 2*product
	r := mid*mid + square + 2*product
	if l < 6e-4 || r < 6e-4 {
		copy(y, x)
		return
	}
	l, r = 1/float32(math.Sqrt(float64(l))), 1/float32(math.Sqrt(float64(r)))
	for i, v := range y {
		m := mid * x[i]
		x[i], y[i] = l*(m-v), r*(m+v)
	}
}
