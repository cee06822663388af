package celt

import "math"

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
func (r *bandReader) readWhole(x []float32, costs []uint8, bits, blocks int, from []float32,
	gain float32, fill uint) uint {
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
