package silk

import (
	"math"
	"math/bits"
)

// lpc are the coefficients of a short-term filter in Q12: a sample is predicted as the
// sum of those before it, the last one first, times these.
type lpc [maxOrder]int32

// filter converts line spectral frequencies (section 4.2.7.5.6). They are the zeros of
// two polynomials whose sum is the filter's.
func (b *lsfBook) filter(v *lsf) (aQ12 lpc) {
	// In an order that keeps rounding errors small (table 27).
	place := placeNarrow[:]
	if b.order == 16 {
		place = placeWide[:]
	}
	var cosines2 lsf // doubled, in Q16
	for i, at := range place {
		whole, fraction := v[i]>>8, v[i]&255
		low, highest := cosines[whole], cosines[whole+1]
		cosines2[at] = round(low<<8+(highest-low)*fraction, 4)
	}
	half := b.order / 2
	var p, q [maxOrder/2 + 1]int32
	expand(p[:half+1], cosines2[0:])
	expand(q[:half+1], cosines2[1:])
	var aQ17 lpc
	for k := range half {
		sum, difference := p[k+1]+p[k], q[k+1]-q[k]
		aQ17[k] = -difference - sum
		aQ17[b.order-1-k] = difference - sum
	}
	aQ12 = aQ17.fit(b.order)
	for i := 0; i < 16 && aQ12.inverseGain(b.order) == 0; i++ {
		aQ17.expandBandwidth(b.order, 65536-2<<i)
		for k := range b.order {
			aQ12[k] = round(aQ17[k], 5)
		}
	}
	return aQ12
}

var (
	placeNarrow = [10]uint8{0, 9, 6, 3, 4, 5, 8, 1, 2, 7}
	placeWide   = [16]uint8{0, 15, 8, 7, 4, 11, 12, 3, 2, 13, 10, 5, 6, 9, 14, 1}
)

// expand multiplies the factors 1 - 2cos·x + x² out, whose cosines are every other of
// c; the first half of the coefficients, the rest is their mirror image.
func expand(p, c []int32) {
	p[0], p[1] = 1<<16, -c[0]
	for k := 1; k < len(p)-1; k++ {
		f := int64(c[2*k])
		p[k+1] = p[k-1]<<1 - int32(round64(f*int64(p[k]), 16))
		for n := k; n > 1; n-- {
			p[n] += p[n-2] - int32(round64(f*int64(p[n-1]), 16))
		}
		p[1] -= int32(f)
	}
}

// fit brings coefficients from Q17 to Q12 and into 16 bits (section 4.2.7.5.7).
func (a *lpc) fit(order int) (aQ12 lpc) {
	for range 10 {
		largest, at := int32(0), 0
		for k, v := range a[:order] {
			if abs(v) > largest {
				largest, at = abs(v), k
			}
		}
		if largest = round(largest, 5); largest <= math.MaxInt16 {
			for k := range order {
				aQ12[k] = round(a[k], 5)
			}
			return aQ12
		}
		largest = min(largest, 163838)
		a.expandBandwidth(order, 65470-(largest-math.MaxInt16)<<14/(largest*int32(at+1)>>2))
	}
	for k := range order {
		aQ12[k] = clip16(round(a[k], 5))
		a[k] = aQ12[k] << 5
	}
	return aQ12
}

// expandBandwidth multiplies the coefficients by powers of chirp, which moves the
// filter's poles inwards.
func (a *lpc) expandBandwidth(order int, chirpQ16 int32) {
	step := chirpQ16 - 65536
	for k := range order {
		a[k] = scale(chirpQ16, a[k])
		chirpQ16 += round(chirpQ16*step, 16)
	}
}

// expandRounded is expandBandwidth with rounding to the nearest.
func (a *lpc) expandRounded(order int, chirpQ16 int32) {
	step := chirpQ16 - 65536
	for k := range order {
		a[k] = round(chirpQ16*a[k], 16)
		chirpQ16 += round(chirpQ16*step, 16)
	}
}

// inverseGain returns 1 over the filter's gain of energy in Q30, 0 where it is not
// stable, or nearly so (section 4.2.7.5.8): its reflection coefficients, one by one.
func (a *lpc) inverseGain(order int) int32 {
	const (
		limit = 16773022 // 0.99975 in Q24
		least = 107374   // 1e-4 in Q30
		one   = 1 << 30
	)
	var r lpc
	sum := int32(0)
	for k, v := range a[:order] {
		sum += v
		r[k] = v << 12
	}
	if sum >= 4096 {
		return 0
	}
	gain := int32(one)
	for k := order - 1; ; k-- {
		if r[k] > limit || r[k] < -limit {
			return 0
		}
		reflection := -r[k] << 7
		rest := one - high(reflection, reflection)
		if gain = high(gain, rest) << 2; gain < least {
			return 0
		}
		if k == 0 {
			return gain
		}
		shift := bits.Len32(uint32(rest))
		inverse := int64(invert(rest, shift+30))
		for n := range (k + 1) >> 1 {
			x, y := r[n], r[k-1-n]
			u := round64(int64(clip32(int64(x)-round64(int64(y)*int64(reflection), 31)))*inverse, shift)
			w := round64(int64(clip32(int64(y)-round64(int64(x)*int64(reflection), 31)))*inverse, shift)
			if u != int64(int32(u)) || w != int64(int32(w)) {
				return 0
			}
			r[n], r[k-1-n] = int32(u), int32(w)
		}
	}
}
