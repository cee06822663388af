package sbr

import "hark/audioprep/internal/bits"

// header is what holds until the next one (table 4.63).
type header struct {
	bandParameters
	coarse       bool // levels in steps of 3 dB, not 1.5
	limiterBands int
	limiterGain  int
	interpolate  bool // energies are measured band for band
	smooth       bool // gains change slowly
}

// bandParameters is the part that decides which bands there are.
type bandParameters struct {
	start, stop, crossover int
	scale                  int // 0: bands of equal width, else 12, 10, 8 an octave
	alter                  bool
	noiseBands             int // an octave
}

func readHeader(r *bits.Reader) header {
	h := header{limiterBands: 2, limiterGain: 2, interpolate: true}
	h.scale, h.alter, h.noiseBands = 2, true, 2
	h.coarse = r.Flag()
	h.start, h.stop, h.crossover = r.Take(4), r.Take(4), r.Take(3)
	r.Take(2) // reserved
	moreBands, more := r.Flag(), r.Flag()
	if moreBands {
		h.scale, h.alter, h.noiseBands = r.Take(2), r.Flag(), r.Take(2)
	}
	abrupt := true
	if more {
		h.limiterBands, h.limiterGain = r.Take(2), r.Take(2)
		h.interpolate, abrupt = r.Flag(), r.Flag()
	}
	h.smooth = !abrupt
	return h
}
