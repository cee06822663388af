package celt

import "hark/audioprep/internal/opus/rangecoder"

// frame is what the beginning of a frame says and the allocation works out.
type frame struct {
	log        int // duration: 2.5 ms · 2^log
	channels   int
	start, end int // bands coded

	silence    bool
	transient  bool // short blocks
	intra      bool // energies do not depend on the frame before
	postfilter postfilter
	resolution [bands]int // how often blocks are joined, or divided if negative
	spread     int

	allocation
}

// The ways of spreading pulses.
const (
	spreadNone   = 0
	spreadNormal = 2
	spreadMost   = 3
)

// width is the number of bins of a band, for all blocks of a channel.
func (f *frame) width(band int) int { return (bandEdges[band+1] - bandEdges[band]) << f.log }

// readHeader reads what comes before the energies.
func (f *frame) readHeader(rc *rangecoder.Decoder) {
	total := 8 * rc.Size()
	switch tell := rc.Tell(); {
	case tell >= total:
		f.silence = true
	case tell == 1:
		f.silence = rc.Bit(15) == 1
	}
	if f.silence {
		rc.Finish()
	}
	if f.start == 0 && rc.Tell()+16 <= total && rc.Bit(1) == 1 {
		f.postfilter = readPostfilter(rc)
	}
	if f.log > 0 && rc.Tell()+3 <= total {
		f.transient = rc.Bit(3) == 1
	}
	if rc.Tell()+3 <= total {
		f.intra = rc.Bit(3) == 1
	}
}

// readResolution reads how each band trades resolution in time for such in frequency
// (section 4.3.4.5).
func (f *frame) readResolution(rc *rangecoder.Decoder) {
	total := 8 * rc.Size()
	transient, log := 0, 4
	if f.transient {
		transient, log = 1, 2
	}
	choice := f.log > 0 && rc.Tell()+log+1 <= total
	if choice {
		total-- // for it
	}
	current, changed := 0, 0
	for i := f.start; i < f.end; i++ {
		if rc.Tell()+log <= total {
			current ^= rc.Bit(log)
			changed |= current
		}
		f.resolution[i] = current
		log = 5 - transient
	}
	table := &resolutions[f.log][transient]
	selected := 0
	if choice && table[0][changed] != table[1][changed] {
		selected = rc.Bit(1)
	}
	for i := f.start; i < f.end; i++ {
		f.resolution[i] = int(table[selected][f.resolution[i]])
	}
}

// readSpread reads how far pulses are spread (section 4.3.4.3).
func (f *frame) readSpread(rc *rangecoder.Decoder) {
	f.spread = spreadNormal
	if rc.Tell()+4 <= 8*rc.Size() {
		f.spread = rc.Symbol(spreadCode[:], 5)
	}
}
