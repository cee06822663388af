package celt

import "math"

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
