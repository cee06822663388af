package silk

// noise is the background as it was while nobody spoke, to be heard in pauses in which
// nothing is sent (DTX) and under frames that are made up.
type noise struct {
	kHz           int
	lsf           lsf
	gainQ16       int32
	excitationQ14 [maxFrame]int32
	stateQ14      [maxOrder]int32
	seed          int32
}

// comfort learns the background of an inactive frame, or adds it to one made up.
func (c *channel) comfort(f *parameters, out []int16) {
	s := &c.noise
	if s.kHz != c.kHz {
		s.kHz, s.gainQ16, s.seed = c.kHz, 0, 3176576
		for i := range c.book.order {
			s.lsf[i] = 32767 / int32(c.book.order+1) * int32(i+1)
		}
	}
	if c.lost == 0 && c.previousSignal == inactive {
		c.learnNoise(f)
	}
	if c.lost > 0 {
		c.addNoise(out)
	} else {
		clear(s.stateQ14[:c.book.order]) // at order 10 not the newest, as others do
	}
}

func (c *channel) learnNoise(f *parameters) {
	const lsfShare, gainShare = 16348, 4634 // in Q16
	s := &c.noise
	for i := range c.book.order {
		s.lsf[i] += scale(c.lsf[i]-s.lsf[i], lsfShare)
	}
	// The excitation of the loudest subframe goes in front of those before.
	loudest := 0
	for i, gain := range f.gainsQ16[:c.subframes] {
		if gain > f.gainsQ16[loudest] {
			loudest = i
		}
	}
	copy(s.excitationQ14[c.subframe:], s.excitationQ14[:(c.subframes-1)*c.subframe])
	copy(s.excitationQ14[:c.subframe], c.excitationQ14[loudest*c.subframe:])
	for _, gain := range f.gainsQ16[:c.subframes] {
		s.gainQ16 += scale(gain-s.gainQ16, gainShare)
	}
}

// noiseGain is the gain in Q10 that fills up what is made up to the background's energy.
func (c *channel) noiseGain() int32 {
	s, p := &c.noise, &c.conceal
	gain := scale(p.noiseQ14, p.gainsQ16[1])
	if gain >= 1<<21 || s.gainQ16 > 1<<23 {
		gain >>= 16
		gain *= gain
		own := s.gainQ16 >> 16
		return squareRoot(own*own-gain<<5) << 16 >> 6
	}
	gain = scale(gain, gain)
	return squareRoot(scale(s.gainQ16, s.gainQ16)-gain<<5) << 8 >> 6
}

func (c *channel) addNoise(out []int16) {
	s := &c.noise
	gain := c.noiseGain()
	mask := int32(255)
	for int(mask) > len(out) {
		mask >>= 1
	}
	a := c.book.filter(&s.lsf)
	var short shortBuffer
	var residual [maxSubframe]int32
	copy(short[:], s.stateQ14[:])
	for at := 0; at < len(out); at += c.subframe {
		for i := range c.subframe {
			s.seed = random(s.seed)
			residual[i] = s.excitationQ14[s.seed>>24&mask]
		}
		short.predict(residual[:c.subframe], &a, c.book.order)
		for i, v := range short[maxOrder:][:c.subframe] {
			x := &out[at+i]
			*x = int16(clip16(int32(*x) + clip16(round(scale(v, gain), 8))))
		}
		copy(short[:maxOrder], short[c.subframe:])
	}
	copy(s.stateQ14[:], short[:])
}
