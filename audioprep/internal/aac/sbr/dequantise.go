package sbr

import (
	"math"

	"hark/audioprep/internal/bits"
	"hark/audioprep/internal/huffman"
)

// codeOffset is what stands for a difference of 0.
const codeOffset = 64

// levelBooks are the codes of levels, by balance, by steps of 3 dB and by differences
// along time; noiseBooks those of noise floors along time, by balance.
var (
	levelBooks = [2][2][2]*huffman.Table{
		{{book(levelFreqFineLeaves), book(levelTimeFineLeaves)}, {book(levelFreqCoarseLeaves), book(levelTimeCoarseLeaves)}},
		{{book(balanceFreqFineLeaves), book(balanceTimeFineLeaves)}, {book(balanceFreqCoarseLeaves), book(balanceTimeCoarseLeaves)}},
	}
	noiseBooks = [2]*huffman.Table{book(noiseTimeLeaves), book(noiseBalanceTimeLeaves)}
)

func book(leaves string) *huffman.Table { return huffman.New(leaves, huffman.Hex) }

func difference(r *bits.Reader, t *huffman.Table) int {
	return int(t.Read(r).Value) - codeOffset
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// noiseOffset is the level of noise that a floor of 0 stands for, as a power of two
// (section 4.6.18.2.5).
const noiseOffset = 6

// dequantise makes energies and noise floors of the numbers that were read (section
// 4.6.18.3.5).
func (e *Element) dequantise() {
	if e.coupled {
		e.uncouple()
		return
	}
	for _, c := range e.ch {
		alpha := c.alpha()
		for i := range c.envelopes {
			for b := range e.f.resolution(c.fine[i]) {
				c.energy[i][b] = power(6 + alpha*float64(c.level[i+1][b]))
			}
		}
		for i := range c.noises {
			for b := range len(e.f.noise) - 1 {
				c.noise[i][b] = power(noiseOffset - float64(c.floor[i+1][b]))
			}
		}
	}
}

// uncouple makes two channels of their sum and their balance.
func (e *Element) uncouple() {
	left, right := e.ch[0], e.ch[1]
	const middle = 12 // the balance of equal parts
	alpha := left.alpha()
	for i := range left.envelopes {
		for b := range e.f.resolution(left.fine[i]) {
			sum := power(7 + alpha*float64(left.level[i+1][b]))
			ratio := power(middle - alpha*float64(right.level[i+1][b]))
			left.energy[i][b] = sum / (1 + ratio)
			right.energy[i][b] = left.energy[i][b] * ratio
		}
	}
	for i := range left.noises {
		for b := range len(e.f.noise) - 1 {
			sum := power(noiseOffset + 1 - float64(left.floor[i+1][b]))
			ratio := power(middle - float64(right.floor[i+1][b]))
			left.noise[i][b] = sum / (1 + ratio)
			right.noise[i][b] = left.noise[i][b] * ratio
		}
	}
}

// alpha is how much a step of level is, as a power of two.
func (c *channel) alpha() float64 {
	if c.coarse {
		return 1
	}
	return 0.5
}

// power is two to the power of x, at most what real signals reach: energies are multiplied
// with each other.
func power(x float64) float32 { return float32(math.Exp2(min(x, 60))) }
