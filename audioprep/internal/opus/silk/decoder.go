// Package silk decodes the SILK layer of Opus, which codes speech up to 8 kHz (RFC 6716,
// section 4.2).
//
// # The format
//
// SILK models the voice: an excitation of pulses and noise goes through a filter
// that repeats it with the period of the pitch (long-term prediction) and one that has
// the resonances of the mouth (short-term prediction, LPC). A frame of 10 or 20 ms has the
// two filters, gains for each 5 ms and the excitation:
//
//	bits ─ gains, pitch ─────────────────────┐
//	     ─ line spectral frequencies ─ LPC ──┤
//	     ─ pulses ─ signs, noise ─ excitation ─► long-term ─► short-term filter ─► mid and side
//	     ─ stereo weights ──────────────────────────────────► left and right ─► 48 kHz
//
// An Opus frame has up to three of them, and before these may come copies of frames of
// the packet before, which are passed over.
//
// All is in integers and reproduces the reference implementation's output to the bit,
// that for lost frames and the resampler to 48 kHz included, which the RFC leaves open.
package silk

import "hark/audioprep/internal/opus/rangecoder"

// MaxMillis is the longest Opus frame with SILK.
const MaxMillis = 60

// Form is what the header of an Opus packet says of a frame.
type Form struct {
	KHz      int // sample rate of the coded signal: 8, 12 or 16
	Millis   int // 10, 20, 40 or 60
	Channels int // coded: 1 or 2
}

// Decoder holds what one frame leaves to the next. Not for concurrent use.
type Decoder struct {
	outputs  int // channels of output
	form     Form
	single   bool // the signal just went from two channels to one
	channels [2]channel
	stereo   stereo
	midOnly  bool // the frame before had no side
	frames   [2][2 + maxFrame]int16
}

// NewDecoder returns a decoder with so many channels of output, 1 or 2, whatever number
// is coded.
func NewDecoder(outputs int) *Decoder {
	d := &Decoder{outputs: outputs}
	d.Reset()
	return d
}

// Reset forgets the signal.
func (d *Decoder) Reset() {
	d.channels[0].reset()
	d.channels[1].reset()
	d.stereo = stereo{}
	d.midOnly = false
}

// Decode reads an Opus frame and writes its samples at 48 kHz to each of out, which have
// room for them.
func (d *Decoder) Decode(rc *rangecoder.Decoder, form Form, out [][]int16) {
	d.begin(form)
	n := max(1, form.Millis/20)
	d.readFlags(rc, n)
	d.passCopies(rc, n)
	for i := range n {
		weightsQ13 := d.frame(rc, i)
		d.resample(out, i, weightsQ13)
	}
}

// Conceal makes up a frame of 10 or 20 ms in place of one that is lost.
func (d *Decoder) Conceal(millis int, out [][]int16) {
	form := d.form
	form.Millis = millis
	d.begin(form)
	c := d.channels[:form.Channels]
	for i := range c {
		x := d.frames[i][2:][:c[0].frame]
		if i == 1 && d.midOnly {
			clear(x)
			continue
		}
		c[i].extrapolate(x)
	}
	d.resample(out, 0, d.stereo.weightsQ13)
	for i := range c {
		c[i].gain = 10 // the next frame's may be any
	}
}

// begin prepares for a form that may differ from the one before.
func (d *Decoder) begin(form Form) {
	was := d.form
	d.form = form
	if form.Channels > was.Channels {
		d.channels[1].reset()
	}
	d.single = form.Channels == 1 && was.Channels == 2 && form.KHz == d.channels[0].kHz
	subframes := maxSubframes
	if form.Millis == 10 {
		subframes = 2
	}
	for i := range form.Channels {
		d.channels[i].setForm(form.KHz, subframes)
	}
	if d.outputs == 2 && form.Channels == 2 && was.Channels == 1 {
		d.stereo.weightsQ13, d.stereo.side = [2]int32{}, [2]int16{}
		d.channels[1].resampler = d.channels[0].resampler
	}
}

// readFlags reads which of n frames are active and which have copies (sections 4.2.3 and
// 4.2.4).
func (d *Decoder) readFlags(rc *rangecoder.Decoder, n int) {
	var copies [2]bool
	for k := range d.form.Channels {
		for i := range n {
			d.channels[k].active[i] = rc.Bit(1) == 1
		}
		copies[k] = rc.Bit(1) == 1
	}
	for k := range d.form.Channels {
		which := 0
		if copies[k] {
			switch n {
			case 1:
				which = 1
			case 2:
				which = 1 + rc.Symbol(redundant2[:], 8)
			case 3:
				which = 1 + rc.Symbol(redundant3[:], 8)
			}
		}
		for i := range d.channels[k].redundant {
			d.channels[k].redundant[i] = which>>i&1 == 1
		}
	}
}

// passCopies reads the copies of earlier frames and drops them.
func (d *Decoder) passCopies(rc *rangecoder.Decoder, n int) {
	for i := range n {
		for k := range d.form.Channels {
			c := &d.channels[k]
			if !c.redundant[i] {
				continue
			}
			if d.form.Channels == 2 && k == 0 {
				readWeights(rc)
				if !d.channels[1].redundant[i] {
					rc.Symbol(stereoMidOnly[:], 8)
				}
			}
			mode := independent
			if i > 0 && c.redundant[i-1] {
				mode = conditional
			}
			c.read(rc, i, true, mode)
		}
	}
}

// frame reads frame i of the packet into d.frames. It returns the stereo weights.
func (d *Decoder) frame(rc *rangecoder.Decoder, i int) (weightsQ13 [2]int32) {
	midOnly := false
	if d.form.Channels == 2 {
		weightsQ13 = readWeights(rc)
		if !d.channels[1].active[i] {
			midOnly = rc.Symbol(stereoMidOnly[:], 8) == 1
		}
		if !midOnly && d.midOnly {
			d.channels[1].restart()
		}
	}
	for k := range d.form.Channels {
		c := &d.channels[k]
		x := d.frames[k][2:][:c.frame]
		if k == 1 && midOnly {
			clear(x)
			continue
		}
		mode := conditional
		if i == 0 {
			mode = independent
		} else if k == 1 && d.midOnly {
			mode = independentUnscaled
		}
		c.decode(rc, x, i, mode)
	}
	d.midOnly = midOnly
	return weightsQ13
}

// resample takes the channels of frame i, mixed from mid and side, to 48 kHz.
func (d *Decoder) resample(out [][]int16, i int, weightsQ13 [2]int32) {
	n := d.channels[0].frame
	mid, side := d.frames[0][:2+n], d.frames[1][:2+n]
	if d.outputs == 2 && d.form.Channels == 2 {
		d.stereo.unmix(mid, side, weightsQ13, d.form.KHz)
	} else {
		d.stereo.keep(mid)
	}
	long := n * 48 / d.form.KHz
	at := i * long
	first := out[0][at:][:long]
	d.channels[0].resampler.run(first, mid[1:][:n])
	switch {
	case d.outputs == 1:
	case d.form.Channels == 2:
		d.channels[1].resampler.run(out[1][at:][:long], side[1:][:n])
	case d.single:
		d.channels[1].resampler.run(out[1][at:][:long], mid[1:][:n])
	default:
		copy(out[1][at:], first)
	}
	d.single = false
}
