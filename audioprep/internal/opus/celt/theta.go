package celt

import (
	"math"
	"math/bits"
)

// A shape can be the sum of two at right angles, halves of a band or mid and side: then
// an angle tells their lengths (section 4.3.4.4).

// rightAngle is the largest angle; 0 is the least.
const rightAngle = 16384

// angle is how a shape is divided.
type angle struct {
	theta     int
	mid, side float32 // cosine and sine
	delta     int     // bits that the first part is to have less than the second, in 1/8
	used      int     // bits, in 1/8
	inverted  bool    // the second channel is the first one's opposite
}

// readAngle reads the angle between two shapes of n bins each, which have bits together.
// blocks are those of the shape that is divided.
func (r *bandReader) readAngle(n, bits, blocks, log int, stereo bool) (a angle) {
	const splitOffset, pairOffset = 4, 16
	most := widthLog2[r.band] + log<<3
	offset := most>>1 - splitOffset
	if stereo && n == 2 {
		offset = most>>1 - pairOffset
	}
	steps := angleSteps(n, bits, offset, most, stereo)
	if stereo && r.band >= r.f.intensity {
		steps = 1
	}
	tell := r.rc.TellEighths()
	switch {
	case steps != 1:
		v := r.readStep(steps, n, blocks, stereo)
		a.theta = v * rightAngle / steps
	case stereo && bits > 2<<3 && r.left > 2<<3:
		// Mono would be silent if this were heeded (RFC 8251, section 10).
		a.inverted = r.rc.Bit(2) == 1 && !r.mono
	}
	a.used = r.rc.TellEighths() - tell
	switch a.theta {
	case 0:
		a.mid, a.delta = 32767./32768, -rightAngle
	case rightAngle:
		a.side, a.delta = 32767./32768, rightAngle
	default:
		mid, side := cosine(a.theta), cosine(rightAngle-a.theta)
		a.mid, a.side = float32(mid)/32768, float32(side)/32768
		a.delta = multiply((n-1)<<7, log2Tan(side, mid))
	}
	return a
}

// angleSteps is in how many steps an angle is coded.
func angleSteps(n, bits, offset, most int, stereo bool) int {
	freedom := 2*n - 1
	if stereo && n == 2 {
		freedom--
	}
	b := (bits + freedom*offset) / freedom
	b = min(bits-most-4<<3, b, 8<<3)
	if b < 4 {
		return 1
	}
	steps := eighthPowers[b&7] >> (14 - b>>3)
	return (steps + 1) >> 1 << 1
}

// eighthPowers are 2^14 · 2^(i/8).
var eighthPowers = [8]int{16384, 17866, 19483, 21247, 23170, 25267, 27554, 30048}

// readStep reads one of steps+1 angles.
func (r *bandReader) readStep(steps, n, blocks int, stereo bool) int {
	half := steps / 2
	switch {
	case stereo && n > 2: // the lower half is three times as probable
		const weight = 3
		total := uint32(weight*(half+1) + half)
		at := int(r.rc.Frequency(total))
		v := at / weight
		if at >= (half+1)*weight {
			v = at - (half+1)*(weight-1)
		}
		low, high := weight*v, weight*(v+1)
		if v > half {
			low = v - half - 1 + (half+1)*weight
			high = low + 1
		}
		r.rc.Narrow(uint32(low), uint32(high), total)
		return v
	case blocks > 1 || stereo:
		return int(r.rc.Uint(uint32(steps + 1)))
	}
	// A triangle.
	total := (half + 1) * (half + 1)
	at := int(r.rc.Frequency(uint32(total)))
	var v, low, size int
	if at < half*(half+1)/2 {
		v = (squareRoot(8*at+1) - 1) / 2
		size = v + 1
		low = v * (v + 1) / 2
	} else {
		v = (2*(steps+1) - squareRoot(8*(total-at-1)+1)) / 2
		size = steps + 1 - v
		low = total - (steps+1-v)*(steps+2-v)/2
	}
	r.rc.Narrow(uint32(low), uint32(low+size), uint32(total))
	return v
}

func squareRoot(v int) int { return int(math.Sqrt(float64(v))) }

// multiply is a·b/2^15 of two 16-bit numbers, rounded.
func multiply(a, b int) int { return (1<<14 + int(int16(a))*int(int16(b))) >> 15 }

// cosine is that of an angle, in Q15. Since bits depend on it, all decoders must use this
// polynomial (bands.c, bitexact_cos).
func cosine(angle int) int {
	x := (4096 + angle*angle) >> 13
	return 1 + 32767 - x + multiply(x, -7651+multiply(x, 8277+multiply(-626, x)))
}

// log2Tan is the log2 of the quotient of two numbers in Q15, in Q11 (bands.c,
// bitexact_log2tan).
func log2Tan(sin, cos int) int {
	ls, lc := bits.Len(uint(sin)), bits.Len(uint(cos))
	sin <<= 15 - ls
	cos <<= 15 - lc
	log := func(v int) int { return multiply(v, multiply(v, -2597)+7932) }
	return (ls-lc)<<11 + log(sin) - log(cos)
}
