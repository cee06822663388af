package aac

import (
	"math"

	"hark/audioprep/internal/bits"
)

// Temporal noise shaping predicts lines from their neighbours, which shapes the
// quantisation noise within a window as the signal is. The decoder runs the all-pole
// filter over stretches of lines, upwards or downwards (section 4.6.9).

const (
	maxTNSLong  = 12 // order of a long window's filter in the low-complexity profile
	maxTNSShort = 7
	maxTNSBits  = 31 // largest order that can be written
)

type tnsFilter struct {
	bands   int // how many, below the filter before
	order   int
	down    bool
	reflect [maxTNSBits]float32
}

type tnsData struct {
	count  [shortWindows]int
	filter [shortWindows][3]tnsFilter
}

// read reads TNS data (table 4.54).
func (t *tnsData) read(r *bits.Reader, f *icsInfo) error {
	countBits, bandBits, orderBits := 2, 6, 5
	if f.sequence == sequenceShort {
		countBits, bandBits, orderBits = 1, 4, 3
	}
	for w := range f.windows {
		t.count[w] = r.Take(countBits)
		if t.count[w] == 0 {
			continue
		}
		resolution := r.Take(1) + 3
		for i := range t.count[w] {
			p := &t.filter[w][i]
			p.bands = r.Take(bandBits)
			p.order = r.Take(orderBits)
			if p.order == 0 {
				continue
			}
			p.down = r.Flag()
			bits := resolution - r.Take(1)
			for k := range p.order {
				v := r.Take(bits)
				if v >= 1<<(bits-1) {
					v -= 1 << bits
				}
				p.reflect[k] = tnsCoefficient(v, resolution)
			}
		}
	}
	if r.Past() {
		return ErrPacket
	}
	return nil
}

// tnsCoefficient is the reflection coefficient of a quantised one.
func tnsCoefficient(v, resolution int) float32 {
	steps := float64(int(1)<<(resolution-1)) - 0.5
	if v < 0 {
		steps++
	}
	return float32(math.Sin(float64(v) * math.Pi / 2 / steps))
}

// shape runs all filters of the channel.
func (c *channel) shape() {
	f := &c.info
	limit := min(f.tnsBands, f.maxBand)
	most := maxTNSLong
	if f.sequence == sequenceShort {
		most = maxTNSShort
	}
	for w := range f.windows {
		bottom := len(f.bands) - 1
		for i := range c.tns.count[w] {
			p := &c.tns.filter[w][i]
			top := bottom
			bottom = max(top-p.bands, 0)
			from, to := f.bands[min(bottom, limit)], f.bands[min(top, limit)]
			if p.order == 0 || from >= to {
				continue
			}
			p.run(c.coef[w*shortLines+from:w*shortLines+to], min(p.order, most))
		}
	}
}

// run filters lines in place.
func (p *tnsFilter) run(x []float32, order int) {
	// From reflection coefficients to those of the predictor.
	var a, b [maxTNSBits + 1]float32
	for m := 1; m <= order; m++ {
		k := p.reflect[m-1]
		for i := 1; i < m; i++ {
			b[i] = a[i] + k*a[m-i]
		}
		copy(a[1:m], b[1:m])
		a[m] = k
	}
	at, step := 0, 1
	if p.down {
		at, step = len(x)-1, -1
	}
	for n := range x {
		y := x[at]
		for i := 1; i <= min(order, n); i++ {
			y -= a[i] * x[at-i*step]
		}
		x[at] = y
		at += step
	}
}
