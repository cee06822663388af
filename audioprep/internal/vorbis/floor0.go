package vorbis

import "math"

// floor0 is a floor of type 0, which no encoder has written since 2002: the envelope is that
// of an all-pole filter, given by its line spectral frequencies, over a scale of pitch as ears
// have it (section 6).
type floor0 struct {
	order   int
	bits    int // of the amplitude
	offset  int // in dB
	books   []*codebook
	bark    int      // steps of the scale
	scale   [2][]int // for each line of a block the step that it is in
	choices int      // bits that choose a book
}

// maxFloor is what floors are kept finite by, in dB. Those of audio are below 0 or little above.
const maxFloor = 200

func readFloor0(r *bitReader, books []*codebook, sizes [2]int) (*floor0, error) {
	f := &floor0{order: int(r.read(8))}
	ownRate := float64(r.read(16))
	f.bark = int(r.read(16))
	f.bits, f.offset = int(r.read(6)), int(r.read(8))
	for range r.read(4) + 1 {
		n := int(r.read(8))
		if n >= len(books) || books[n].vectors == nil || books[n].dimensions == 0 {
			return nil, errFloor
		}
		f.books = append(f.books, books[n])
	}
	if r.failed || f.order == 0 || f.bark == 0 || ownRate == 0 || f.bits > 32 {
		return nil, errFloor
	}
	f.choices = bitsFor(len(f.books))
	for i, size := range sizes {
		n := size / 2
		f.scale[i] = make([]int, n)
		for k := range n {
			at := barkOf(ownRate*float64(k)/float64(2*n)) * float64(f.bark) / barkOf(ownRate/2)
			f.scale[i][k] = min(int(at), f.bark-1)
		}
	}
	return f, nil
}

// barkOf is the pitch of a frequency (section 6.2.3).
func barkOf(hz float64) float64 {
	return 13.1*math.Atan(0.00074*hz) + 2.24*math.Atan(1.85e-8*hz*hz) + 1e-4*hz
}

func (f *floor0) read(r *bitReader, _ []*codebook, c *floorCurve) {
	c.amplitude = r.read(f.bits)
	c.used = c.amplitude > 0 && !r.failed
	if !c.used {
		return
	}
	n := int(r.read(f.choices))
	if n >= len(f.books) {
		c.used = false
		return
	}
	c.cosines = c.cosines[:0]
	last := 0.0
	for len(c.cosines) < f.order {
		v := f.books[n].vector(r)
		if v == nil {
			c.used = false
			return
		}
		// Each vector goes on from the last value of the one before.
		base := last
		for _, x := range v {
			last = base + float64(x)
			c.cosines = append(c.cosines, math.Cos(last))
		}
	}
	c.cosines = c.cosines[:f.order]
}

func (f *floor0) apply(c *floorCurve, lines []float32) {
	scale := f.scale[0]
	if len(scale) != len(lines) {
		scale = f.scale[1]
	}
	full := float64(uint64(1)<<f.bits - 1)
	height, step := float32(0), -1
	for i := range lines {
		if scale[i] != step {
			step = scale[i]
			gain := f.gain(c.cosines, math.Cos(math.Pi*float64(step)/float64(f.bark)))
			dB := float64(c.amplitude)*float64(f.offset)/full*gain - float64(f.offset)
			height = float32(math.Exp(0.11512925 * min(dB, maxFloor)))
		}
		lines[i] *= height
	}
}

// gain is the filter's gain at a frequency of which w is the cosine.
func (f *floor0) gain(cosines []float64, w float64) float64 {
	p, q := 1.0, 1.0 // of the odd and the even frequencies
	for i, c := range cosines {
		d := 2 * (c - w)
		if i%2 == 0 {
			q *= d * d
		} else {
			p *= d * d
		}
	}
	if f.order%2 == 1 {
		p, q = p*(1-w*w), q/4
	} else {
		p, q = p*(1-w)/2, q*(1+w)/2
	}
	return 1 / math.Sqrt(p+q)
}
