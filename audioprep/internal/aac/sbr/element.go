// Package sbr rebuilds the upper half of the spectrum of HE-AAC: spectral band
// replication.
//
// # The format
//
// The core, AAC of half the rate, holds what lies below a crossover frequency. What
// lies above resembles it: the decoder copies bands of the core upwards and gives
// them the energy, the noise and the tones that the encoder has measured. All this is
// done on a grid of time and frequency, which a bank of complex filters (QMF) makes:
// 64 bands of the doubled rate, a column of them for every 64 samples, 32 columns a
// packet.
//
//	payload ─ header ─► bands ─ grid, envelopes, noise floors ─► what the encoder measured
//	core samples ─ analysis, 32 bands ─ copied up, flattened ─► upper bands
//	             ─ energy, noise, tones ─► all bands ─ synthesis ─► samples of twice the rate
//
// ISO/IEC 14496-3:2009, section 4.6.18, and section 4.4.2.8 for the payload; tables
// are named from it.
//
// # What it does not do
//
// The low-power variant, and frames of 960 samples. Checksums are passed over. No payload
// makes it panic: one that cannot be is ErrPayload, and the packet is doubled in rate without
// an upper half.
package sbr

import (
	"errors"

	"hark/audioprep/internal/aac/ps"
	"hark/audioprep/internal/bits"
)

// ErrPayload: bits that cannot be, or fewer than there should be.
var ErrPayload = errors.New("the SBR payload is damaged")

// CoreFrame is how many samples of each channel the core has in a packet, and Frame how
// many are made of them.
const (
	CoreFrame = 1024
	Frame     = 2 * CoreFrame
)

// The grid of a packet. The core's columns are kept some packets' columns longer than
// needed, since the upper bands are made from what was a little before.
const (
	coreBands = 32
	bands     = 64
	slots     = 16        // units of the time grid
	columns   = 2 * slots // of the filter banks
	ahead     = 8         // columns of the core from the packet before (t_HFGen)
	delay     = 2         // of them that come before what is copied (t_HFAdj)
	// overhang is how far envelopes may reach into the next packet, and how many columns
	// parametric stereo looks ahead.
	overhang = 6
)

// column is all bands at one time.
type column = [bands]complex64

// Element decodes the SBR of one element of a packet, which is one channel or a pair.
// Not for concurrent use.
type Element struct {
	// Low leaves out the upper half of the bands, all that lies above the core.
	Low bool

	rate     int // of the output
	header   header
	started  bool // a header was read
	on       bool // there is data for the packet under way
	reset    bool // the bands have changed with it
	f        bandTables
	coupled  bool
	ch       []*channel
	kx, m    int // first copied band and their number, in the packet before
	analyse  *analysis
	generate generator
	grid     [][columns + overhang]column // what is to be synthesised, of each output channel
	stereo   *ps.Decoder                  // nil: not wanted
	synths   []*synthesis
}

// channel is one channel's part of a packet, and what it leaves to the next.
type channel struct {
	grid
	data
	filter  analysisState
	core    [2][columns][coreBands]complex64 // of this packet and the one before, in turn
	upper   [2][columns + overhang]column    // likewise
	turn    int
	end     int // of the last envelope of the packet before, in slots
	adjust  adjuster
	flatten [maxNoiseBands]float32 // chirp factors
}

// New returns the decoder of an element of one or two channels whose core has the given
// rate in Hz. parametric asks for two channels to be made of one where the payload says how.
func New(coreRate, channels int, parametric bool) *Element {
	e := &Element{rate: 2 * coreRate, analyse: newAnalysis(), kx: coreBands}
	outputs := channels
	if parametric && channels == 1 {
		e.stereo = ps.New()
		outputs = 2
	}
	for range channels {
		e.ch = append(e.ch, &channel{end: slots, grid: grid{transient: -1}})
	}
	for range outputs {
		e.synths = append(e.synths, newSynthesis())
	}
	e.grid = make([][columns + overhang]column, outputs)
	return e
}

// Read takes the payload of the packet that is to be processed next, the body of a fill
// element behind its type, up to r.End. checked says that a checksum stands before it.
func (e *Element) Read(r bits.Reader, checked bool) error {
	e.on = false
	if checked {
		r.Skip(10)
	}
	if r.Flag() {
		h := readHeader(&r)
		if !e.started || h.bandParameters != e.header.bandParameters {
			f, err := newBandTables(e.rate, h.bandParameters)
			if err != nil {
				e.started = false
				return err
			}
			e.f, e.reset = f, true
		}
		e.f.setLimits(h.limiterBands)
		e.header, e.started = h, true
	}
	if !e.started {
		return nil // it began before we did
	}
	if err := e.readData(&r); err != nil {
		e.started = false
		return err
	}
	e.on = true
	return nil
}

// Channels is how many channels of the core Process takes.
func (e *Element) Channels() int { return len(e.ch) }

// Present reports that the packet under way has a payload that could be read.
func (e *Element) Present() bool { return e.on }

// Outputs is how many channels Process writes.
func (e *Element) Outputs() int { return len(e.synths) }

// Stereo reports that the payload has said how to make two channels of one.
func (e *Element) Stereo() bool { return e.stereo != nil && e.stereo.Started() }

// Process makes Frame samples of each channel of the core's CoreFrame, and writes those
// of channel c to dst[c], dst[c+step]…
func (e *Element) Process(core [][CoreFrame]float32, dst []float32, step int) {
	kx, m := coreBands, 0
	if e.on {
		kx, m = e.f.kx, e.f.m
	} else {
		e.started = false
	}
	for i, c := range e.ch {
		c.turn = 1 - c.turn
		e.analyse.run(&c.filter, &core[i], &c.core[c.turn])
		e.generate.load(c, kx, e.kx)
		if e.on {
			e.generate.run(c, &e.f)
			e.adjust(c)
		}
		e.assemble(c, &e.grid[i], kx, m)
		c.finish(e.on)
	}
	if e.stereo != nil {
		e.stereo.Process(&e.grid[0], &e.grid[1], kx+m)
	}
	for i, s := range e.synths {
		s.run(e.grid[i][:columns], dst[i:], step)
	}
	e.kx, e.m, e.on, e.reset = kx, m, false, false
}

// assemble puts the lower bands of the core and the upper ones together. Where envelopes of
// the packet before reach into this one, its bands still hold.
func (e *Element) assemble(c *channel, out *[columns + overhang]column, kx, m int) {
	old := max(2*c.end-columns, 0)
	low := &e.generate.low
	for i := range out {
		x := &out[i]
		*x = column{}
		first, number, upper := kx, m, c.upper[c.turn][i][:]
		if i < old {
			first, number, upper = e.kx, e.m, c.upper[1-c.turn][i+columns][:]
		}
		for k := range first {
			x[k] = low[k][i+delay]
		}
		end := first + number
		if e.Low {
			end = min(end, coreBands)
		}
		if i < columns && first < end {
			copy(x[first:end], upper[first:end])
		}
	}
}

// finish leaves to the next packet what it needs of this one.
func (c *channel) finish(on bool) {
	if !on {
		c.end, c.transient, c.adjust.wasSudden = slots, -1, false
		return
	}
	c.end = c.border[c.envelopes]
}
