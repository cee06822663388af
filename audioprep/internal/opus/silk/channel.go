package silk

import "hark/audioprep/internal/opus/rangecoder"

const (
	maxSubframes = 4
	maxSubframe  = 80  // samples, 5 ms at 16 kHz
	maxFrame     = 320 // 20 ms
	maxOrder     = 16  // of the short-term filter
)

// The types of a frame.
const (
	inactive = iota
	unvoiced
	voiced
)

// coding is how a frame refers to the one before.
type coding int

const (
	independent coding = iota
	// independentUnscaled: the frame before was left out, but its past is known.
	independentUnscaled
	conditional
)

// indices are the side information of a frame as it is coded.
type indices struct {
	offset        int // kind of quantization offset
	gains         [maxSubframes]int
	first         int // vector of line spectral frequencies
	residual      [maxOrder]int32
	interpolation int32 // in quarters, 4: none
	lag           int
	contour       int
	periodicity   int
	filters       [maxSubframes]int
	scaling       int
	seed          int32
}

// parameters are what a frame is synthesized from.
type parameters struct {
	gainsQ16   [maxSubframes]int32
	aQ12       [2]lpc // of the first and the second half
	lags       [maxSubframes]int
	filtersQ14 [maxSubframes][taps]int32
	scalingQ14 int32
}

// channel is the state of one channel, mid or side.
type channel struct {
	kHz       int
	subframes int // 2 or 4
	subframe  int // samples, 5 ms
	frame     int // samples
	memory    int // samples of history, 20 ms
	book      *lsfBook
	resampler resampler

	active    [3]bool // of each frame in the packet
	redundant [3]bool // whether a copy of an earlier packet's frame is here

	indices        indices
	signal         int // type of the frame
	pulses         [maxFrame]int32
	excitationQ14  [maxFrame]int32
	wasVoiced      bool // the last frame read
	previousLag    int  // of the last frame read
	previousSignal int
	gain           int // the last gain
	gainQ16        int32
	lag            int
	fresh          bool // nothing was decoded since a reset
	lsf            lsf
	stateQ14       [maxOrder]int32
	history        [2*maxFrame - 2*maxSubframe]int16 // 20 ms before the frame, and its first half

	lost    int // frames in a row
	conceal conceal
	noise   noise
}

// reset forgets everything.
func (c *channel) reset() {
	*c = channel{fresh: true, gainQ16: 65536}
	c.noise.seed = 3176576
}

// restart forgets the signal.
func (c *channel) restart() {
	clear(c.history[:])
	clear(c.stateQ14[:])
	c.lag, c.gain, c.previousSignal, c.fresh = 100, 10, inactive, true
}

// setForm prepares for frames of a rate and so many subframes.
func (c *channel) setForm(kHz, subframes int) {
	c.subframes, c.subframe = subframes, 5*kHz
	c.frame = subframes * c.subframe
	if c.kHz == kHz {
		return
	}
	c.kHz, c.memory = kHz, 20*kHz
	c.resampler = newResampler(kHz)
	c.book = narrowBook
	if kHz == 16 {
		c.book = wideBook
	}
	c.restart()
}

// read reads frame i of a packet; copied: the one that is there once more for an earlier
// packet's sake.
func (c *channel) read(rc *rangecoder.Decoder, i int, copied bool, mode coding) {
	kind := 0
	if copied || c.active[i] {
		kind = 2 + rc.Symbol(signalTypeActive[:], 8)
	} else {
		kind = rc.Symbol(signalTypeInactive[:], 8)
	}
	c.signal, c.indices.offset = kind>>1, kind&1
	c.readGains(rc, mode)
	c.readLSF(rc)
	if c.signal == voiced {
		c.readPitch(rc, mode)
	}
	c.wasVoiced = c.signal == voiced
	c.indices.seed = int32(rc.Symbol(uniform4[:], 8))
	c.readPulses(rc)
}

// decode reads frame i and returns its samples in out.
func (c *channel) decode(rc *rangecoder.Decoder, out []int16, i int, mode coding) {
	c.read(rc, i, false, mode)
	f := c.parameters(mode)
	c.excite()
	c.synthesize(&f, out)
	c.remember(&f)
	c.lost, c.previousSignal, c.fresh = 0, c.signal, false
	c.finish(&f, out)
}

// finish is what is left to do for frames that were decoded or made up.
func (c *channel) finish(f *parameters, out []int16) {
	copy(c.history[:], c.history[c.frame:c.memory])
	copy(c.history[c.memory-c.frame:], out)
	c.comfort(f, out)
	c.glue(out)
	c.lag = f.lags[c.subframes-1]
}

// parameters works out what the indices mean.
func (c *channel) parameters(mode coding) (f parameters) {
	const afterLoss = 63570 // bandwidth, in Q16
	x, b := &c.indices, c.book
	f.gainsQ16 = c.gains(mode)
	v := b.dequantize(x)
	f.aQ12[1] = b.filter(&v)
	if c.fresh {
		x.interpolation = 4
	}
	f.aQ12[0] = f.aQ12[1]
	if x.interpolation < 4 {
		between := c.lsf
		for i := range b.order {
			between[i] += x.interpolation * (v[i] - c.lsf[i]) >> 2
		}
		f.aQ12[0] = b.filter(&between)
	}
	c.lsf = v
	if c.lost > 0 {
		f.aQ12[0].expandRounded(b.order, afterLoss)
		f.aQ12[1].expandRounded(b.order, afterLoss)
	}
	if c.signal == voiced {
		c.setPitch(&f)
	}
	return f
}
