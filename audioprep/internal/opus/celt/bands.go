package celt

import "hark/audioprep/internal/opus/rangecoder"

// The shape of a band is a vector of unit length (section 4.3.4): a band with too many bits
// for one vector is divided in two, and so on; one with too few is filled with what lies
// below it in the spectrum (folding), or with noise. Bits that a band leaves over go to
// those behind it.

// bandReader reads the shapes of a frame.
type bandReader struct {
	rc   *rangecoder.Decoder
	f    *frame
	mono bool // output has one channel
	seed uint32

	band       int
	left       int // bits of the frame, in 1/8
	resolution int // of the band
	dual       bool

	shape  [2][]float32        // of each channel, [bins of the frame]
	folded [2][maxBins]float32 // the same, as later bands are filled with it
	masks  [2][bands]uint      // which blocks of a band are not empty
	lower  [maxWidth]float32   // what a band is filled with, changed to its resolution
	other  [maxWidth]float32   // for reordering
}

// read reads the shapes of all bands.
func (r *bandReader) read() {
	f := r.f
	total := 8 * r.rc.Size() << 3
	if f.collapseBit {
		total -= 8
	}
	blocks := 1
	if f.transient {
		blocks = 1 << f.log
	}
	balance := f.balance
	r.dual = f.dual
	below, dense := 0, true // the band to fill from, and whether the last had a bit for each bin
	for i := f.start; i < f.end; i++ {
		r.band, r.resolution = i, f.resolution[i]
		tell := r.rc.TellEighths()
		if i != f.start {
			balance -= tell
		}
		r.left = total - tell - 1
		bits := 0
		if i < f.coded {
			bits = f.shapeBits[i] + balance/min(3, f.coded-i)
			bits = max(0, min(16383, r.left+1, bits))
		}
		n := f.width(i)
		if (dense || below == 0) && (i == f.start+1 || bandEdges[i]<<f.log-n >= r.first()) {
			below = i
		}
		if i == f.start+1 {
			r.repeatFirst()
		}
		if r.dual && i == f.intensity {
			r.endDual()
		}
		r.readBand(bits, blocks, below)
		balance += f.shapeBits[i] + tell
		dense = bits > n<<3
	}
}

// first is the first bin that is coded.
func (r *bandReader) first() int { return bandEdges[r.f.start] << r.f.log }

// endDual makes one of what two channels are filled with.
func (r *bandReader) endDual() {
	r.dual = false
	for k := r.first(); k < bandEdges[r.band]<<r.f.log; k++ {
		r.folded[0][k] = (r.folded[0][k] + r.folded[1][k]) / 2
	}
}

// repeatFirst makes the first band of a hybrid frame long enough to fill the second
// (RFC 8251, section 9).
func (r *bandReader) repeatFirst() {
	f := r.f
	n1, n2 := f.width(f.start), f.width(f.start+1)
	if n2 <= n1 {
		return
	}
	for c := range f.channels {
		x := r.folded[c][r.first():]
		copy(x[n1:n2], x[2*n1-n2:n1])
	}
}

// source is what the band is filled with where it gets no pulses: from is the first bin, -1
// for noise, and fill tells for each channel which blocks there are not empty.
func (r *bandReader) source(blocks, below int) (from int, fill [2]uint) {
	f := r.f
	if below == 0 || f.spread == spreadMost && blocks == 1 && r.resolution >= 0 {
		return -1, [2]uint{1<<blocks - 1, 1<<blocks - 1}
	}
	n := f.width(r.band)
	from = max(r.first(), bandEdges[below]<<f.log-n)
	start, end := below-1, below
	for bandEdges[start]<<f.log > from {
		start--
	}
	for end < r.band && bandEdges[end]<<f.log < from+n {
		end++
	}
	for i := start; i < end; i++ {
		fill[0] |= r.masks[0][i]
		fill[1] |= r.masks[1][i]
	}
	return from, fill
}

// readBand reads one band of all channels. below is the band to fill it from.
func (r *bandReader) readBand(bits, blocks, below int) {
	f := r.f
	at, n := bandEdges[r.band]<<f.log, f.width(r.band)
	from, fill := r.source(blocks, below)
	last := r.band == f.end-1
	source := func(c int) []float32 {
		if from < 0 {
			return nil
		}
		return r.folded[c][from:][:n]
	}
	keep := func(c int) []float32 {
		if last {
			return nil
		}
		return r.folded[c][at:][:n]
	}
	x, y := r.shape[0][at:][:n], r.shape[1][at:][:n]
	var mask [2]uint
	switch {
	case f.channels == 1:
		mask[0] = r.readChannel(x, bits, blocks, source(0), keep(0), 1, fill[0]|fill[1])
		mask[1] = mask[0]
	case r.dual:
		mask[0] = r.readChannel(x, bits/2, blocks, source(0), keep(0), 1, fill[0])
		mask[1] = r.readChannel(y, bits/2, blocks, source(1), keep(1), 1, fill[1])
	default:
		mask[0] = r.readStereo(x, y, bits, blocks, source(0), keep(0), fill[0]|fill[1])
		mask[1] = mask[0]
	}
	r.masks[0][r.band], r.masks[1][r.band] = mask[0], mask[1]
}
