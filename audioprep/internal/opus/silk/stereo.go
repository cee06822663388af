package silk

import "hark/audioprep/internal/opus/rangecoder"

// Two channels are coded as mid, half their sum, and side, half their difference less
// what can be predicted of it from mid (section 4.2.8): from mid without its highest
// frequencies by one weight, from mid as it is by the other.

// stereo is what a frame leaves to the next.
type stereo struct {
	weightsQ13 [2]int32
	mid, side  [2]int16 // the last samples
}

// readWeights reads the two weights (section 4.2.7.1).
func readWeights(rc *rangecoder.Decoder) (weightsQ13 [2]int32) {
	joint := rc.Symbol(stereoJoint[:], 8)
	thirds := [2]int{joint / 5, joint % 5}
	for i := range weightsQ13 {
		at := 3*thirds[i] + rc.Symbol(uniform3[:], 8)
		fine := rc.Symbol(uniform5[:], 8)
		low := stereoWeights[at]
		step := scale(stereoWeights[at+1]-low, 6554) // a tenth
		weightsQ13[i] = low + step*int32(2*fine+1)
	}
	weightsQ13[0] -= weightsQ13[1]
	return weightsQ13
}

// keep puts the last two samples of the frame before in front of mid, whose first two
// places are for them.
func (s *stereo) keep(mid []int16) {
	old := s.mid
	copy(s.mid[:], mid[len(mid)-2:])
	copy(mid, old[:])
}

// unmix turns mid and side into left and right, one sample late. Both have two places
// for the samples before.
func (s *stereo) unmix(mid, side []int16, weightsQ13 [2]int32, kHz int) {
	s.keep(mid)
	old := s.side
	copy(s.side[:], side[len(side)-2:])
	copy(side, old[:])

	ramp := 8 * kHz // the weights change over 8 ms
	share := int32(1<<16) / int32(ramp)
	w, step := s.weightsQ13, [2]int32{}
	for i := range step {
		step[i] = round((weightsQ13[i]-w[i])*share, 16)
	}
	for n := range len(mid) - 2 {
		if n < ramp {
			w[0] += step[0]
			w[1] += step[1]
		} else {
			w = weightsQ13
		}
		m := int32(mid[n+1])
		low := (int32(mid[n]) + int32(mid[n+2]) + m<<1) << 9
		sum := int32(side[n+1])<<8 + scale(low, w[0]) + scale(m<<11, w[1])
		side[n+1] = int16(clip16(round(sum, 8)))
	}
	s.weightsQ13 = weightsQ13
	for n := 1; n < len(mid)-1; n++ {
		l, r := int32(mid[n])+int32(side[n]), int32(mid[n])-int32(side[n])
		mid[n], side[n] = int16(clip16(l)), int16(clip16(r))
	}
}
