package mpeg

import "math"

// undoStereo makes left and right of what joint stereo codes in their place.
// ISO/IEC 11172-3, section 2.4.3.4.9; ISO/IEC 13818-3, section 2.4.3.2.
//
// Mid-side: the channels hold (left+right)/√2 and (left-right)/√2. Intensity:
// above the last line of the right channel the left one holds both, and the
// right one's scale factors say how they share.
func undoStereo(h Header, left, right *granule) {
	if !h.intensity {
		if h.midSide {
			unmix(left, right, 0, max(left.nonzero, right.nonzero))
		}
		return
	}
	l := right.layout
	bound := intensityBounds(right)
	for b, w := range l.window {
		from, to := l.start[b], l.start[b+1]
		if from < bound[w+1] || left.layout != l {
			if h.midSide {
				unmix(left, right, from, to)
			}
			continue
		}
		// The last band has no scale factor of its own: it uses the one before.
		k := b
		if w < 0 && b == 21 {
			k = 20
		} else if w >= 0 && b >= len(l.window)-3 {
			k = b - 3
		}
		kl, kr, ok := shares(h, right, k)
		if !ok {
			if h.midSide {
				unmix(left, right, from, to)
			}
			continue
		}
		for i := from; i < to; i++ {
			v := left.lines[i]
			left.lines[i], right.lines[i] = v*kl, v*kr
		}
	}
	left.nonzero = max(left.nonzero, right.nonzero)
	right.nonzero = left.nonzero
}

// intensityBounds returns where intensity begins for long bands and for each
// short window: behind the last band of the right channel that is not zero.
func intensityBounds(right *granule) (bound [4]int) {
	l := right.layout
	for b, w := range l.window {
		for _, v := range right.lines[l.start[b]:l.start[b+1]] {
			if v != 0 {
				bound[w+1] = l.start[b+1]
				if w >= 0 { // short bands end the long ones of a mixed block
					bound[0] = granuleLines
				}
				break
			}
		}
	}
	return bound
}

// shares returns the factors of the left and the right channel in band b, not
// ok if it is not coded by intensity.
func shares(h Header, right *granule, b int) (kl, kr float32, ok bool) {
	pos := int(right.scale[b])
	if h.Version == 1 {
		if pos >= 7 {
			return 0, 0, false
		}
		if pos == 6 {
			return 1, 0, true
		}
		ratio := math.Tan(float64(pos) * math.Pi / 12)
		return float32(ratio / (1 + ratio)), float32(1 / (1 + ratio)), true
	}
	if right.illegal[b] {
		return 0, 0, false
	}
	step := math.Exp2(-0.25)
	if right.position == 1 {
		step = math.Sqrt2 / 2
	}
	k := float32(math.Pow(step, float64((pos+1)/2)))
	if pos%2 == 1 {
		return k, 1, true
	}
	return 1, k, true
}

func unmix(left, right *granule, from, to int) {
	const half = math.Sqrt2 / 2
	a, b := left.lines[from:to], right.lines[from:to]
	for i, m := range a {
		s := b[i]
		a[i], b[i] = (m+s)*half, (m-s)*half
	}
	left.nonzero = max(left.nonzero, to)
	right.nonzero = max(right.nonzero, to)
}
