package silk

import "math/bits"

// Lost frames are made up: the excitation goes on with the last pitch and noise from
// the excitation's quietest part, fading, through the last short-term filter. The RFC
// leaves this open (section 4.4); it is done here as in the reference implementation, since
// files with gaps and pauses (DTX) are common, and others decode them so.

// conceal is what the last frame leaves for the case that the next is lost.
type conceal struct {
	kHz        int
	lagQ8      int32
	filterQ14  [taps]int32
	aQ12       lpc
	gainsQ16   [2]int32 // of the last two subframes
	noiseQ14   int32    // share of noise
	scalingQ14 int32
	seed       int32
	subframe   int
	subframes  int

	energy int32 // of the frame made up, to be shifted up by shift
	shift  int
	madeUp bool // the frame before
}

// beginConceal forgets what was at another rate.
func (c *channel) beginConceal() {
	p := &c.conceal
	if p.kHz == c.kHz {
		return
	}
	p.kHz = c.kHz
	p.lagQ8 = int32(c.frame) << 7
	p.gainsQ16 = [2]int32{1 << 16, 1 << 16}
	p.subframe, p.subframes = 20, 2
}

// remember keeps what is needed if the next frame is lost.
func (c *channel) remember(f *parameters) {
	const weakest, strongest = 11469, 15565 // 0.7 and 0.95 in Q14
	c.beginConceal()
	p := &c.conceal
	p.filterQ14 = [taps]int32{}
	p.lagQ8 = int32(18*c.kHz) << 8
	if c.signal == voiced {
		// The strongest filter of the subframes of the last period.
		last := c.subframes - 1
		gain := int32(0)
		for j := 0; j*c.subframe < f.lags[last] && j < c.subframes; j++ {
			sum := int32(0)
			for _, v := range f.filtersQ14[last-j] {
				sum += v
			}
			if sum > gain {
				gain = sum
				p.lagQ8 = int32(f.lags[last-j]) << 8
			}
		}
		switch {
		case gain < weakest:
			gain = gain * (weakest << 10 / max(gain, 1)) >> 10
		case gain > strongest:
			gain = gain * (strongest << 14 / gain) >> 14
		}
		p.filterQ14[taps/2] = gain
	}
	p.aQ12 = f.aQ12[1]
	p.scalingQ14 = f.scalingQ14
	p.gainsQ16 = [2]int32(f.gainsQ16[c.subframes-2:])
	p.subframe, p.subframes = c.subframe, c.subframes
}

// extrapolate makes up a frame.
func (c *channel) extrapolate(out []int16) {
	c.signal = c.previousSignal
	c.beginConceal()
	p := &c.conceal
	if c.fresh {
		p.aQ12 = lpc{}
	}
	p.aQ12.expandRounded(c.book.order, 64881) // 0.99 in Q16
	harmonic, noise := c.fading()

	// Past and frame of the long-term filter, in Q14.
	var long [2 * maxFrame]int32
	lag := int(round(p.lagQ8, 8))
	span := lag + taps/2
	past := long[c.memory-span : c.memory]
	whiten(past, c.history[c.memory-span-c.book.order:c.memory], &p.aQ12, c.book.order)
	inverse := min(invert(p.gainsQ16[1], 46), 1<<30-1)
	for i, v := range past {
		past[i] = scale(inverse, v)
	}
	source := c.quietest()
	for k := range c.subframes {
		now := c.memory + k*c.subframe
		c.extrapolateSubframe(long[now-lag-taps/2:now+c.subframe], source)
		for j, v := range p.filterQ14 {
			p.filterQ14[j] = harmonic * v >> 15
		}
		if c.signal != inactive {
			p.noiseQ14 = p.noiseQ14 * noise >> 15
		}
		p.lagQ8 = min(p.lagQ8+scale(p.lagQ8, 655), int32(18*c.kHz)<<8)
		lag = int(round(p.lagQ8, 8))
	}

	gain := p.gainsQ16[1] >> 6
	var short shortBuffer
	copy(short[:], c.stateQ14[:])
	for at := 0; at < c.frame; at += c.subframe {
		short.predict(long[c.memory+at:][:c.subframe], &p.aQ12, c.book.order)
		for i, v := range short[maxOrder:][:c.subframe] {
			out[at+i] = int16(clip16(round(scale(v, gain), 8)))
		}
		copy(short[:maxOrder], short[c.subframe:])
	}
	copy(c.stateQ14[:], short[:])
	c.lost++
	f := parameters{lags: [maxSubframes]int{lag, lag, lag, lag}}
	c.finish(&f, out)
}

// fading is by how much pitch and noise become weaker with each subframe, in Q15. At the
// first frame lost it sets the share of noise.
func (c *channel) fading() (harmonic, noise int32) {
	p := &c.conceal
	harmonic, noise = 32440, 32440 // 0.99
	if c.lost > 0 {
		harmonic, noise = 31130, 29491 // 0.95, 0.9
	}
	if c.previousSignal == voiced {
		noise = 31130 // 0.95
		if c.lost > 0 {
			noise = 26214 // 0.8
		}
	}
	if c.lost > 0 {
		return harmonic, noise
	}
	p.noiseQ14 = 1 << 14
	if c.previousSignal == voiced {
		for _, v := range p.filterQ14 {
			p.noiseQ14 -= v
		}
		p.noiseQ14 = max(3277, p.noiseQ14) * p.scalingQ14 >> 14 // 0.2
	} else {
		// Less noise where the short-term filter has a high gain.
		inverse := min(max(p.aQ12.inverseGain(c.book.order), 1<<22), 1<<27) << 3
		noise = scale(inverse, noise) >> 14
	}
	return harmonic, noise
}

// quietest is the excitation to take noise from: the end of the quieter one of the last
// two subframes.
func (c *channel) quietest() []int32 {
	const length = 128
	p := &c.conceal
	var energy [2]int32
	var shift [2]int
	for k := range energy {
		var x [maxSubframe]int16
		gain := p.gainsQ16[k] >> 6
		for i, v := range c.excitationQ14[(c.subframes-2+k)*c.subframe:][:c.subframe] {
			x[i] = int16(clip16(scale(v, gain) >> 8))
		}
		energy[k], shift[k] = energyOf(x[:c.subframe])
	}
	end := p.subframes * p.subframe
	if energy[0]>>shift[1] < energy[1]>>shift[0] {
		end -= p.subframe
	}
	return c.excitationQ14[max(0, end-length):][:length]
}

// extrapolateSubframe lets the long-term filter run on noise. long is as for predictLong
// but ends behind the subframe.
func (c *channel) extrapolateSubframe(long, source []int32) {
	p := &c.conceal
	now := len(long) - c.subframe
	for i := range c.subframe {
		past := (*[taps]int32)(long[i:])
		predicted := 2 + scale(past[4], p.filterQ14[0]) + scale(past[3], p.filterQ14[1]) +
			scale(past[2], p.filterQ14[2]) + scale(past[1], p.filterQ14[3]) + scale(past[0], p.filterQ14[4])
		p.seed = random(p.seed)
		v := source[p.seed>>25&127]
		long[now+i] = (predicted + scale(v, p.noiseQ14)) << 2
	}
}

// glue fades a frame in that follows on one made up and is louder.
func (c *channel) glue(x []int16) {
	p := &c.conceal
	if c.lost > 0 {
		p.energy, p.shift = energyOf(x)
		p.madeUp = true
		return
	}
	if !p.madeUp {
		return
	}
	p.madeUp = false
	energy, shift := energyOf(x)
	if shift > p.shift {
		p.energy >>= shift - p.shift
	} else {
		energy >>= p.shift - shift
	}
	if energy <= p.energy {
		return
	}
	zeros := bits.LeadingZeros32(uint32(p.energy)) - 1
	p.energy <<= zeros
	energy >>= max(24-zeros, 0)
	gain := squareRoot(p.energy/max(energy, 1)) << 4 // in Q16
	slope := (1<<16 - gain) / int32(len(x)) << 2
	for i, v := range x {
		x[i] = int16(scale(gain, int32(v)))
		if gain += slope; gain > 1<<16 {
			break
		}
	}
}

// energyOf is the sum of the squares, shifted down so that two bits are free.
func energyOf(x []int16) (energy int32, shift int) {
	shift = 31 - bits.LeadingZeros32(uint32(len(x)))
	energy = squares(x, int32(len(x)), shift)
	shift = max(0, shift+3-bits.LeadingZeros32(uint32(energy)))
	return squares(x, 0, shift), shift
}

// squares adds to sum the squares of x, pair by pair shifted down.
func squares(x []int16, sum int32, shift int) int32 {
	for i := 0; i < len(x); i += 2 {
		v := uint32(int32(x[i]) * int32(x[i]))
		if i+1 < len(x) {
			v += uint32(int32(x[i+1]) * int32(x[i+1]))
		}
		sum = int32(uint32(sum) + v>>shift)
	}
	return sum
}
