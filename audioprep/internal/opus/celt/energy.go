package celt

import "hark/audioprep/internal/opus/rangecoder"

// The energies of the bands are log2 amplitudes (section 4.3.2), in three steps: coarse, in
// steps of 6 dB, predicted from the frame before and the band below; fine, as many bits
// as the allocation grants; and final, a bit each for whatever is left over.

// energies are of each channel and band, less the band's mean.
type energies [2][bands]float32

const (
	silent      = -28 // the energy of nothing
	maxFineBits = 8
)

// The weights of the prediction, by duration (quant_bands.c, pred_coef and beta_coef).
var (
	fromBefore = [4]float32{29440. / 32768, 26112. / 32768, 21248. / 32768, 16384. / 32768}
	forget     = [4]float32{30147. / 32768, 22282. / 32768, 12124. / 32768, 6554. / 32768}
)

// readCoarse reads the coarse energies.
func (f *frame) readCoarse(rc *rangecoder.Decoder, e *energies) {
	weight, decay := fromBefore[f.log], forget[f.log]
	kind := 0
	if f.intra {
		weight, decay, kind = 0, 4915./32768, 1
	}
	model := &energyModel[f.log][kind]
	budget := 8 * rc.Size()
	var below [2]float32
	for i := f.start; i < f.end; i++ {
		for c := range f.channels {
			q := float32(readStep(rc, budget-rc.Tell(), model, i))
			e[c][i] = weight*max(-9, e[c][i]) + below[c] + q
			below[c] += q - decay*q
		}
	}
}

// readStep reads a coarse energy while there are so many bits left.
func readStep(rc *rangecoder.Decoder, left int, model *[2 * bands]uint8, band int) int {
	switch {
	case left >= 15:
		i := 2 * min(band, 20)
		return laplace(rc, uint32(model[i])<<7, uint32(model[i+1])<<6)
	case left >= 2:
		v := rc.Symbol(smallEnergy[:], 2)
		return v>>1 ^ -(v & 1)
	case left >= 1:
		return -rc.Bit(1)
	}
	return -1
}

// laplace reads a number that becomes less probable by decay/2^14 with each step away
// from 0, which has a probability of zero/2^15; both signs alike.
func laplace(rc *rangecoder.Decoder, zero, decay uint32) int {
	const (
		total = 1 << 15
		least = 1  // the least probability of a number
		near  = 16 // numbers of each sign that have it at any rate
	)
	at := rc.Frequency(total)
	if at < zero {
		rc.Narrow(0, zero, total)
		return 0
	}
	low, value := zero, 1
	size := (total-2*near*least-zero)*(16384-decay)>>15 + least
	for size > least && at >= low+2*size {
		low += 2 * size
		size = (2*size-2*least)*decay>>15 + least
		value++
	}
	if size <= least {
		more := (at - low) / (2 * least)
		value += int(more)
		low += 2 * least * more
	}
	if at < low+size {
		value = -value
	} else {
		low += size
	}
	rc.Narrow(low, min(low+size, total), total)
	return value
}

// readFine reads the fine energies.
func (f *frame) readFine(rc *rangecoder.Decoder, e *energies) {
	for i := f.start; i < f.end; i++ {
		n := f.fineBits[i]
		if n <= 0 {
			continue
		}
		for c := range f.channels {
			e[c][i] += (float32(rc.Bits(n))+0.5)/float32(int(1)<<n) - 0.5
		}
	}
}

// readFinal gives bits that are left to the bands: first to those that were rounded down.
func (f *frame) readFinal(rc *rangecoder.Decoder, e *energies) {
	left := 8*rc.Size() - rc.Tell()
	for _, first := range []bool{true, false} {
		for i := f.start; i < f.end && left >= f.channels; i++ {
			n := f.fineBits[i]
			if n >= maxFineBits || f.fineFirst[i] != first {
				continue
			}
			for c := range f.channels {
				e[c][i] += (float32(rc.Bits(1)) - 0.5) / float32(int(2)<<n)
			}
			left -= f.channels
		}
	}
}
