package silk

import "hark/audioprep/internal/opus/rangecoder"

// maxGain is the loudest of 64 gains, about 1.37 dB apart.
const maxGain = 63

// readGains reads the gains of the subframes (section 4.2.7.4).
func (c *channel) readGains(rc *rangecoder.Decoder, mode coding) {
	for i := range c.subframes {
		if i == 0 && mode != conditional {
			v := rc.Symbol(gainHigh[c.signal][:], 8) << 3
			v |= rc.Symbol(uniform8[:], 8)
			c.indices.gains[0] = v
			continue
		}
		c.indices.gains[i] = rc.Symbol(gainDelta[:], 8)
	}
}

// gains returns the gains in Q16: the first is absolute unless mode says that it
// follows on the frame before, the rest are steps.
func (c *channel) gains(mode coding) (gainsQ16 [maxSubframes]int32) {
	for i := range c.subframes {
		v := c.indices.gains[i]
		if i == 0 && mode != conditional {
			c.gain = max(v, c.gain-16)
		} else {
			step, threshold := v-4, 8+c.gain
			if step > threshold { // large steps up count twice
				step += step - threshold
			}
			c.gain += step
		}
		c.gain = min(max(c.gain, 0), maxGain)
		// From 2 to 88 dB, as log2 of Q16 in Q7.
		gainsQ16[i] = power2(min(scale(0x1d1c71, int32(c.gain))+2090, 3967))
	}
	return gainsQ16
}
