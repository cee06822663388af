// Package ps makes two channels of one, as HE-AAC v2 does: parametric stereo.
//
// # The format
//
// The encoder has mixed both channels into one and measured, in up to 34 bands and for
// up to four envelopes a packet, how much louder the left is than the right (inter-channel
// intensity difference, IID), how alike they are (coherence, ICC) and, seldom, how they
// are turned against each other (phase differences, IPD and OPD). The decoder makes a
// second signal that is as loud as the first and has nothing to do with it, by all-pass
// filters, and mixes both:
//
//	payload ─► IID, ICC, IPD, OPD ─► a matrix for each band and envelope
//	one channel, 64 bands ─ the lowest are split further ─► 71 or 91 bands ─┬──────────────┬─► mix ─► two channels
//	                                                                        └─ decorrelate ┘
//
// It works on the columns of the filter bank of package sbr, 32 of them a packet.
// ISO/IEC 14496-3:2009, subpart 8, section 8.6.4; tables are named from it.
package ps

import "hark/audioprep/internal/bits"

const (
	columns  = 32
	ahead    = 6 // columns behind the packet's that are looked at
	qmfBands = 64
)

// Column is all bands of the filter bank at one time.
type Column = [qmfBands]complex64

// Block is the columns of a packet, and those of the next that are known already.
type Block = [columns + ahead]Column

// Decoder holds what one packet leaves to the next. Not for concurrent use.
type Decoder struct {
	parameters
	layout      *layout // of bands; of the packet under way
	before      *layout // of the packet before
	split       splitter
	decorrelate decorrelator
	mix         mixer
	left, right [maxBands][columns]complex64
}

// New returns a decoder for a stream that begins.
func New() *Decoder { return &Decoder{layout: &layouts[0], before: &layouts[0]} }

// Started reports that there was a payload that says how to make two channels.
func (d *Decoder) Started() bool { return d.started }

// Read takes the payload of the packet that is to be processed next, up to r.End. What
// cannot be is as good as no payload: the channel is doubled until the next header.
func (d *Decoder) Read(r bits.Reader) {
	if !d.read(&r) || r.Past() {
		d.started = false
	}
}

// Process makes left and right of the one channel that stands in left. Bands from top on are
// silent.
func (d *Decoder) Process(left, right *Block, top int) {
	if !d.started {
		*right = *left
		return
	}
	if d.iidOn || d.iccOn {
		d.layout = &layouts[0]
		if d.iidOn && d.iidBands == 34 || d.iccOn && d.iccBands == 34 {
			d.layout = &layouts[1]
		}
	}
	l := d.layout
	d.split.analyse(l, left, &d.left)
	d.decorrelate.run(l, l != d.before, top+l.bands-qmfBands, &d.left, &d.right)
	d.mix.run(l, l != d.before, &d.parameters, &d.left, &d.right)
	l.synthesise(&d.left, left)
	l.synthesise(&d.right, right)
	d.before = l
	d.hold()
}
