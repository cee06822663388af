package kernels

import "math"

// AVX2 without VNNI multiplies bytes in pairs, unsigned by signed, and adds the two products in 16 bits, saturated:
// VPMADDUBSW. To widen each of its results costs as much again and more. So there rows are numbers of seven bits,
// unsigned, their low parts (with what is beyond them in high bytes, as elsewhere), and weights are signed bytes of
// which no four that are added in 16 bits can overflow: then two results are widened as one. Against 16-bit rows that
// is 1.6 times as fast where three ports add.

const (
	// sevenMost is the greatest low part, of numbers counted from a row's zero, the number that stands for 0.
	sevenMost = 127
	// sevenReach is how many times a fine row's mean magnitude its low parts reach, both ways if it has numbers below
	// zero, and sevenCoarse how many times a coarse one's: with all of it in so few bits next to nothing would be left
	// of the others where a few are far larger. See outlier.
	sevenReach  = 3.5
	sevenCoarse = 7
	// sevenFar is the greatest magnitude of a fine number, one whose high byte is within 127.
	sevenFar = 127 * 128
	// sevenRows is how many rows of a strip make a run, which the tile multiplies by a panel at once.
	sevenRows = 3
	// quadMost is what weights of one sign may sum up to where four are added in 16 bits: times 127 just that, less
	// half a step each for rounding.
	quadMost = 256
)

// stepSevens chooses a row's step. What it does without below zero it has above.
func stepSevens(row []float32, k int, fine bool) rowStep {
	most, sum, below := spread(row)
	means := float32(sevenCoarse)
	if fine {
		means = sevenReach
	}
	reach := min(most, sum*(means/float32(max(1, k))))
	below = min(below, reach)
	// One less than there is, as both ends may be rounded away from zero.
	s := checkedStep(max((reach+below)/(sevenMost-1), most/sevenFar), sum)
	if s.inv > 0 {
		s.zero = int32(math.RoundToEven(float64(below * s.inv)))
	}
	return s
}

// sumColumns sets what a row's zero is multiplied by: each column's sum.
func (p *PackedI8) sumColumns() {
	p.sums = resize(p.sums, len(p.scale))
	for j := 0; j < len(p.scale); j += panelCols {
		panelSums(p.sums[j:][:panelCols], p.panels[j*p.kp:][:panelCols*p.kp])
	}
}

// quads raises the greatest magnitude of a column to be packed so far that no four weights overflow 16 bits.
func quads(row []float32, most float32) float32 { return max(most, quadSums(row)*(127.0/quadMost)) }

// columnQuads is quads for 16 columns of x, [k][ldx].
func columnQuads(most *[panelCols]float32, x []float32, ldx, k int) {
	// A step of eights bounds one assembly call.
	const step = 128
	var sums [panelCols]float32
	for i := 0; i+8 <= k; i += 8 * step {
		columnsQuads(&sums, x[i*ldx:], ldx, min(step, (k-i)/8))
	}
	if left := k % 8; left > 0 {
		var last [8 * panelCols]float32
		for i := range left {
			copy(last[i*panelCols:][:panelCols], x[(k-left+i)*ldx:])
		}
		columnsQuads(&sums, last[:], panelCols, 1)
	}
	for i, sum := range sums {
		most[i] = max(most[i], sum*(127.0/quadMost))
	}
}
