package silk

import "hark/audioprep/internal/opus/rangecoder"

// The excitation is pulses: whole numbers, mostly 0 and ±1 (section 4.2.7.8). They come
// in blocks of 16: how many pulses a block has, then how they fall into its halves, the
// halves of these, and so on, then low bits where the numbers are large, then signs.

const (
	blockLength = 16
	maxBlocks   = maxFrame / blockLength
	maxPulses   = 16 // in a block; beyond, low bits are split off
	maxLowBits  = 10
)

// readPulses reads the pulses of a frame into c.pulses.
func (c *channel) readPulses(rc *rangecoder.Decoder) {
	voiced := c.signal >> 1
	level := rc.Symbol(rateLevelCode[voiced][:], 8)
	blocks := (c.frame + blockLength - 1) / blockLength
	var counts, lowBits [maxBlocks]int
	for i := range blocks {
		n := rc.Symbol(pulseCountCode[level][:], 8)
		for n == maxPulses+1 {
			lowBits[i]++
			code := pulseCountCode[9][:]
			if lowBits[i] == maxLowBits { // no more of them: the symbol is left out
				code = code[1:]
			}
			n = rc.Symbol(code, 8)
		}
		counts[i] = n
	}
	for i := range blocks {
		block := (*[blockLength]int32)(c.pulses[i*blockLength:])
		*block = [blockLength]int32{}
		if counts[i] > 0 {
			splitPulses(rc, block[:], counts[i])
		}
	}
	for i := range blocks {
		for k := range c.pulses[i*blockLength:][:blockLength] {
			v := &c.pulses[i*blockLength+k]
			for range lowBits[i] {
				*v = *v<<1 | int32(rc.Symbol(lsbCode[:], 8))
			}
		}
	}
	for i := range blocks {
		if counts[i] > 0 || lowBits[i] > 0 {
			c.readSigns(rc, c.pulses[i*blockLength:][:blockLength], counts[i])
		}
	}
}

// splitPulses shares n pulses out among the places of a block of 2, 4, 8 or 16.
func splitPulses(rc *rangecoder.Decoder, block []int32, n int) {
	half := len(block) / 2
	left := rc.Symbol(splitCode[splitTable[half]][n], 8)
	if half == 1 {
		block[0], block[1] = int32(left), int32(n-left)
		return
	}
	if left > 0 {
		splitPulses(rc, block[:half], left)
	}
	if left < n {
		splitPulses(rc, block[half:], n-left)
	}
}

// splitTable is which of splitCode is for a half of 1, 2, 4 or 8.
var splitTable = [9]int{1: 0, 2: 1, 4: 2, 8: 3}

// readSigns gives the pulses of a block their signs. n is how many there were before
// low bits.
func (c *channel) readSigns(rc *rangecoder.Decoder, block []int32, n int) {
	code := []uint8{signCode[c.signal][c.indices.offset][min(n, 6)], 0}
	for i, v := range block {
		if v != 0 && rc.Symbol(code, 8) == 0 {
			block[i] = -v
		}
	}
}

// excite turns the pulses into the excitation (section 4.2.7.8.6): a little nearer to 0
// than they are, moved by an offset, and of random sign.
func (c *channel) excite() {
	const nearer = 80 << 4 // 0.078 in Q14
	offset := quantizationOffsets[c.signal>>1][c.indices.offset] << 4
	seed := c.indices.seed
	for i, pulse := range c.pulses[:c.frame] {
		seed = random(seed)
		v := pulse << 14
		if pulse > 0 {
			v -= nearer
		} else if pulse < 0 {
			v += nearer
		}
		v += offset
		if seed < 0 {
			v = -v
		}
		c.excitationQ14[i] = v
		seed += pulse
	}
}

// quantizationOffsets are table 53 in Q10, by whether the frame is voiced.
var quantizationOffsets = [2][2]int32{{100, 240}, {32, 100}}

// random is the next of a sequence of random numbers.
func random(seed int32) int32 { return seed*196314165 + 907633515 }
