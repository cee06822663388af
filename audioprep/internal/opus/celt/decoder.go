// Package celt decodes the CELT layer of Opus, which codes music, and speech above
// 8 kHz (RFC 6716, section 4.3).
//
// # The format
//
// CELT is a transform codec. A frame of 2.5 to 20 ms is one MDCT, or several short
// ones where sounds begin in it. The spectrum has 21 bands, after those of the ear; each
// is coded as an energy and a shape, a vector of unit length:
//
//	bits ─ energies, coarse and fine ───────────────────────────────┐
//	     ─ exceptions ─ allocation of bits                          │
//	     ─ pulses ─ vectors ─ spreading ─ folding ─ mid/side ─ shape ─► spectrum
//	     spectrum ─ inverse MDCT, window, overlap ─ pitch filter ─ de-emphasis ─► samples
//
// How many bits each band has is not sent but worked out from what is left, in integers
// that must agree to the last bit; the rest is computed in float32.
//
// In hybrid frames SILK codes what is below 8 kHz, and CELT has the bands from 17 on.
package celt

import (
	"hark/audioprep/internal/mdct"
	"hark/audioprep/internal/opus/rangecoder"
)

const (
	bands     = 21
	shortBins = 120 // of a block of 2.5 ms
	maxLog    = 3   // a frame has 2.5 ms · 2^log
	maxBins   = shortBins << maxLog
	overlap   = 120  // samples that blocks share
	past      = 2048 // samples kept for the pitch filter and for lost frames
)

// Form is what the header of an Opus packet says of a frame.
type Form struct {
	Log        int // duration: 2.5 ms · 2^Log, at most 20 ms
	Channels   int // coded: 1 or 2
	Start, End int // bands coded: from 0 or 17, to 13, 17, 19 or 21
}

// Samples is the duration in samples.
func (f Form) Samples() int { return shortBins << f.Log }

// Decoder holds what one frame leaves to the next. Not for concurrent use.
type Decoder struct {
	outputs int
	dct     [maxLog + 1]*mdct.DCT4

	energies   energies // of the frame before
	before     energies // the same, the lowest since the last frame of long blocks
	twice      energies // of the one before that
	background energies
	seed       uint32
	lost       int  // frames in a row
	unsure     bool // fewer than two frames were received in a row
	pitch      pitch
	postfilter [2]postfilter // of the frame before and, of its beginning, the one before that
	// signal ends with half an overlap of the next block.
	signal   [2][past + overlap]float32
	emphasis [2]float32

	reader   bandReader
	spectrum [2][maxBins]float32
	block    [maxBins]float32
}

// NewDecoder returns a decoder with so many channels of output, 1 or 2, whatever number
// is coded.
func NewDecoder(outputs int) *Decoder {
	d := &Decoder{outputs: outputs}
	for i := range d.dct {
		d.dct[i] = mdct.NewDCT4(shortBins << i)
	}
	d.Reset()
	return d
}

// Reset forgets the signal.
func (d *Decoder) Reset() {
	d.energies, d.background = energies{}, energies{}
	for c := range d.before {
		for i := range d.before[c] {
			d.before[c][i], d.twice[c][i] = silent, silent
		}
	}
	d.seed, d.lost, d.unsure, d.pitch = 0, 0, true, pitch{}
	d.postfilter = [2]postfilter{}
	d.signal, d.emphasis = [2][past + overlap]float32{}, [2]float32{}
}

// Decode reads a frame and writes its samples to each of out, which have room for them.
func (d *Decoder) Decode(rc *rangecoder.Decoder, form Form, out [][]float32) {
	f := &frame{log: form.Log, channels: form.Channels, start: form.Start, end: form.End}
	d.unsure = d.lost > 0
	e := &d.energies
	if f.channels == 1 {
		for i, v := range e[1] {
			e[0][i] = max(e[0][i], v)
		}
	}
	f.readHeader(rc)
	f.readCoarse(rc, e)
	f.readResolution(rc)
	f.readSpread(rc)
	f.allocate(rc)
	f.readFine(rc, e)
	d.readShapes(rc, f)
	if f.silence {
		for c := range f.channels {
			for i := range e[c] {
				e[c][i] = silent
			}
		}
	}
	d.synthesize(f, form.Samples())
	d.filterPitch(f)
	d.keepEnergies(f)
	d.seed = rc.Range()
	d.lost = 0
	d.emit(out, form.Samples())
}

// readShapes reads the shapes into d.spectrum and what is behind them.
func (d *Decoder) readShapes(rc *rangecoder.Decoder, f *frame) {
	r := &d.reader
	r.rc, r.f, r.mono, r.seed = rc, f, d.outputs == 1, d.seed
	for c := range r.shape {
		r.shape[c] = d.spectrum[c][:]
	}
	r.read()
	d.seed = r.seed
	anticollapse := f.collapseBit && rc.Bits(1) == 1
	f.readFinal(rc, &d.energies)
	if anticollapse {
		d.anticollapse(f)
	}
}

// keepEnergies keeps what later frames need to know of the energies.
func (d *Decoder) keepEnergies(f *frame) {
	e := &d.energies
	if f.channels == 1 {
		e[1] = e[0]
	}
	rise := float32(int(1)<<f.log) * 0.001 // of the background
	if d.lost >= 10 {
		rise = 1
	}
	if !f.transient {
		d.twice, d.before = d.before, *e
	}
	for c := range e {
		for i, v := range e[c] {
			if f.transient {
				d.before[c][i] = min(d.before[c][i], v)
			} else {
				d.background[c][i] = min(d.background[c][i]+rise, v)
			}
			if i < f.start || i >= f.end {
				e[c][i] = 0
				d.before[c][i], d.twice[c][i] = silent, silent
			}
		}
	}
}
