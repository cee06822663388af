package mpeg

import "math"

// maxValue is the largest quantised value: 15 and 13 linbits.
const maxValue = 15 + 1<<13 - 1

// power43 is n^(4/3): the quantiser of the encoder is finer for small values.
var power43 = func() (t [maxValue + 1]float32) {
	for i := range t {
		t[i] = float32(math.Pow(float64(i), 4.0/3))
	}
	return t
}()

// quarterPower is 2^(-i/4).
var quarterPower = func() (t [4]float64) {
	for i := range t {
		t[i] = math.Exp2(-float64(i) / 4)
	}
	return t
}()

// preemphasis is added to the scale factors of long blocks if preflag is set.
// ISO/IEC 11172-3, table B.6.
var preemphasis = [22]uint8{11: 1, 1, 1, 1, 2, 2, 3, 3, 3, 2}

// requantise turns quantised values into lines, up to limit. ISO/IEC 11172-3,
// section 2.4.3.4.7.
func (g *granule) requantise(values *[granuleLines]int16, limit int) {
	clear(g.lines[:])
	l := g.layout
	shift := 2 // of scale factors, in quarters of a power of two: half or one
	if g.coarse {
		shift = 4
	}
	for b, w := range l.window {
		from, to := l.start[b], min(l.start[b+1], g.nonzero, limit)
		if from >= to {
			if from >= g.nonzero {
				break
			}
			continue
		}
		scale := int(g.scale[b])
		down := 210 - g.gain
		if w < 0 {
			if g.preflag {
				scale += int(preemphasis[b])
			}
		} else {
			down += 8 * g.subblockGain[w]
		}
		down += shift * scale
		factor := float32(math.Ldexp(quarterPower[down&3], -(down >> 2)))
		for i := from; i < to; i++ {
			switch v := values[i]; {
			case v > 0:
				g.lines[i] = power43[v] * factor
			case v < 0:
				g.lines[i] = -power43[-v] * factor
			}
		}
	}
}
