package celt

import (
	"math"
	"math/bits"

	"hark/audioprep/internal/opus/rangecoder"
)

// A shape is a vector of K pulses in N places, the sum of whose magnitudes is K: one
// number tells which of all such vectors (section 4.3.4.2). Scaled to unit length and with
// the pulses spread, it is a band's spectrum.

const (
	maxWidth  = 176 // bins of a band's channel
	maxRow    = 14  // with more places and more pulses there are more than 2^32 vectors
	maxPseudo = 40  // counts of pulses that are in use
)

// forms[n][k] is how many vectors of k pulses in n places begin with a positive number,
// or with 0 and then half of them: U(n, k) = U(k, n) of the RFC, to be had as
// forms[smaller][larger]. What does not fit in 32 bits is never asked for.
var forms = func() (u [maxRow + 1][maxWidth + 2]uint32) {
	u[0][0] = 1
	for n := 1; n <= maxRow; n++ {
		for k := 1; k < len(u[n]); k++ {
			sum := uint64(u[n-1][k]) + uint64(u[n][k-1]) + uint64(u[n-1][k-1])
			u[n][k] = uint32(min(sum, math.MaxUint32))
		}
	}
	return u
}()

func formsOf(n, k int) uint32 { return forms[min(n, k)][max(n, k)] }

// pulseCount is the number of pulses that index i stands for: all up to 8, then ever
// fewer.
func pulseCount(i int) int {
	if i < 8 {
		return i
	}
	return (8 + i&7) << (i>>3 - 1)
}

// costs are for each width of a band what the counts of pulses cost beyond 1/8 bit, in 1/8
// bits (section 4.3.4.1).
var costs = func() (c [maxWidth + 1][]uint8) {
	for i := range bands {
		for log := range 5 {
			n := (bandEdges[i+1] - bandEdges[i]) << log >> 1
			if n > 0 && c[n] == nil {
				c[n] = costsOf(n)
			}
		}
	}
	return c
}()

func costsOf(n int) []uint8 {
	c := []uint8{0}
	for i := 1; i <= maxPseudo; i++ {
		k := pulseCount(i)
		if min(n, k+1) > maxRow {
			break
		}
		v := uint64(formsOf(n, k)) + uint64(formsOf(n, k+1))
		if v > math.MaxUint32 {
			break
		}
		c = append(c, uint8(log2Up(uint32(v))-1))
	}
	return c
}

// log2Up is log2(v) in 1/8, rounded up as in the reference implementation (cwrs.c,
// log2_frac): v is brought to 16 bits, and each squaring gives another bit.
func log2Up(v uint32) int {
	n := bits.Len32(v)
	whole := n - 1
	if v&(v-1) == 0 {
		return whole << 3
	}
	if n > 16 {
		v = (v-1)>>(n-16) + 1
	} else {
		v <<= 16 - n
	}
	log := whole << 3
	for i := 3; i >= 0; i-- {
		b := v >> 16
		log += int(b) << i
		v = (v + b) >> b
		v = (v*v + 0x7fff) >> 15
	}
	if v > 0x8000 {
		log++
	}
	return log
}

// pulsesFor is the index of the count of pulses whose cost is nearest to so many bits.
func pulsesFor(costs []uint8, bits int) int {
	low, high := 0, len(costs)-1
	bits--
	for low+1 < high {
		mid := (low + high + 1) / 2
		if int(costs[mid]) >= bits {
			high = mid
		} else {
			low = mid
		}
	}
	below := -1
	if low > 0 {
		below = int(costs[low])
	}
	if bits-below <= int(costs[high])-bits {
		return low
	}
	return high
}

// costOf is what index i costs in 1/8 bits.
func costOf(costs []uint8, i int) int {
	if i == 0 {
		return 0
	}
	return int(costs[i]) + 1
}

// readShape reads a shape of k pulses into x and scales it to length gain. blocks is how
// many short blocks lie in x one after the other; the mask tells which have pulses.
func readShape(rc *rangecoder.Decoder, x []float32, k, spread, blocks int, gain float32) (mask uint) {
	index := rc.Uint(formsOf(len(x), k) + formsOf(len(x), k+1))
	square := readVector(x, k, index)
	g := gain / float32(math.Sqrt(float64(square)))
	mask = blocksOf(x, blocks)
	for i := range x {
		x[i] *= g
	}
	rotate(x, k, spread, blocks)
	return mask
}

// readVector puts the vector with an index into x and returns the square of its length.
func readVector(x []float32, k int, index uint32) (square float32) {
	for i := range x {
		n := len(x) - i
		if k == 0 {
			clear(x[i:])
			break
		}
		if k < n { // often
			if low := forms[k][n]; low <= index && index < forms[k+1][n] {
				index -= low
				x[i] = 0
				continue
			}
		}
		negative := false
		if p := formsOf(n, k+1); index >= p {
			index -= p
			negative = true
		}
		left, first := rest(n, k, index)
		index -= first
		v := float32(k - left)
		k = left
		square += v * v
		if negative {
			v = -v
		}
		x[i] = v
	}
	return square
}

// rest is how many of k pulses in n places are left behind the first place in the vector
// with an index, and the index of the first vector with as many.
func rest(n, k int, index uint32) (int, uint32) {
	if n <= k {
		row := forms[n][:k+1]
		for k >= n && row[k] > index {
			k--
		}
		if k >= n {
			return k, row[k]
		}
	}
	for forms[k][n] > index {
		k--
	}
	return k, forms[k][n]
}

// blocksOf tells which of the blocks in x are not all 0.
func blocksOf(x []float32, blocks int) (mask uint) {
	if blocks <= 1 {
		return 1
	}
	n := len(x) / blocks
	for b := range blocks {
		for _, v := range x[b*n:][:n] {
			if v != 0 {
				mask |= 1 << b
				break
			}
		}
	}
	return mask
}

// rotate spreads pulses over their neighbours (section 4.3.4.3), the more the fewer there
// are, so that sparse spectra do not chirp.
func rotate(x []float32, k, spread, blocks int) {
	if 2*k >= len(x) || spread == spreadNone {
		return
	}
	factor := [...]int{1: 15, 2: 10, 3: 5}[spread]
	gain := float32(len(x)) / float32(len(x)+factor*k)
	theta := float64(0.5 * gain * gain)
	sin, cos := math.Sincos(math.Pi / 2 * theta)
	s, c := float32(sin), float32(cos)
	far := 0 // about the square root of a block's length
	if len(x) >= 8*blocks {
		far = 1
		for (far*far+far)*blocks+blocks>>2 < len(x) {
			far++
		}
	}
	n := len(x) / blocks
	for b := range blocks {
		y := x[b*n:][:n]
		if far > 0 {
			rotateBlock(y, far, s, c)
		}
		rotateBlock(y, 1, c, s)
	}
}

// rotateBlock turns each pair of values so far apart, forth and back.
func rotateBlock(x []float32, apart int, c, s float32) {
	turn := func(i int) {
		a, b := x[i], x[i+apart]
		x[i+apart] = c*b + s*a
		x[i] = c*a - s*b
	}
	for i := range len(x) - apart {
		turn(i)
	}
	for i := len(x) - 2*apart - 1; i >= 0; i-- {
		turn(i)
	}
}
