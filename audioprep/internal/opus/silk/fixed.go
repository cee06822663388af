package silk

import (
	"math"
	"math/bits"
)

// The arithmetic of SILK is in integers and part of its definition: decoders agree to
// the bit. A name like gainQ16 says that the number is to be divided by 2^16. Sums
// wrap around where nothing else is said, as they do in Go.

// scale returns a·b/2^16, rounded down.
func scale(a, b int32) int32 { return int32(int64(a) * int64(b) >> 16) }

// high returns a·b/2^32, rounded down.
func high(a, b int32) int32 { return int32(int64(a) * int64(b) >> 32) }

// round returns a/2^n, rounded to the nearest. n is at least 1.
func round(a int32, n int) int32 { return (a>>(n-1) + 1) >> 1 }

// round64 is round for the product of two numbers.
func round64(a int64, n int) int64 { return (a>>(n-1) + 1) >> 1 }

func clip16(a int32) int32 { return min(max(a, math.MinInt16), math.MaxInt16) }

// clip32 brings a sum or difference of two numbers back into their range.
func clip32(a int64) int32 { return int32(min(max(a, math.MinInt32), math.MaxInt32)) }

// shiftClip returns a·2^n inside the range.
func shiftClip(a int32, n int) int32 {
	return min(max(a, math.MinInt32>>n), math.MaxInt32>>n) << n
}

func abs(a int32) int32 { return max(a, -a) }

// headroom is by how many bits a can be shifted up. a is not 0.
func headroom(a int32) int { return bits.LeadingZeros32(uint32(abs(a))) - 1 }

// shiftTo returns a·2^-n, for n of either sign.
func shiftTo(a int32, n int) int32 {
	switch {
	case n <= 0:
		return shiftClip(a, -n)
	case n < 32:
		return a >> n
	}
	return 0
}

// divide returns a/b in Q(q) with 30 bits of it right: an inverse of 14 bits, refined once.
func divide(a, b int32, q int) int32 {
	if a == 0 {
		return 0
	}
	shiftA, shiftB := headroom(a), headroom(b)
	a <<= shiftA
	b <<= shiftB
	inverse := (math.MaxInt32 >> 2) / (b >> 16)
	result := scale(a, inverse)
	a -= high(b, result) << 3
	result += scale(a, inverse)
	return shiftTo(result, 29+shiftA-shiftB-q)
}

// invert returns 1/b in Q(q), in the way of divide.
func invert(b int32, q int) int32 {
	shift := headroom(b)
	b <<= shift
	inverse := (math.MaxInt32 >> 2) / (b >> 16)
	rest := (1<<29 - scale(b, inverse)) << 3
	return shiftTo(inverse<<16+scale(rest, inverse), 61-shift-q)
}

// squareRoot approximates to a few percent.
func squareRoot(a int32) int32 {
	if a <= 0 {
		return 0
	}
	zeros := bits.LeadingZeros32(uint32(a))
	fraction := int32(bits.RotateLeft32(uint32(a), zeros-24) & 127)
	y := int32(46214) // √2 in Q15
	if zeros&1 == 1 {
		y = 32768
	}
	y >>= zeros >> 1
	return y + scale(y, 213*fraction)
}

// power2 returns 2^(a/128), a parabola between whole powers (section 4.2.7.4).
func power2(aQ7 int32) int32 {
	if aQ7 < 0 {
		return 0
	}
	if aQ7 >= 3967 {
		return math.MaxInt32
	}
	whole, fraction := int32(1)<<(aQ7>>7), aQ7&127
	curve := fraction + scale(fraction*(128-fraction), -174)
	if aQ7 < 2048 {
		return whole + whole*curve>>7
	}
	return whole + whole>>7*curve
}
