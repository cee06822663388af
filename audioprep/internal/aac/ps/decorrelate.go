package ps

// decorrelator makes a signal that is as loud as another and unlike it: by three all-pass
// filters in a row in the lower bands, by a delay above. Behind sudden sounds it is turned
// down, since its echo would be heard (section 8.6.4.5).
type decorrelator struct {
	past  [maxBands][longDelay]complex64
	links [maxAllPass]allPass
	peaks [maxParameters]peak
}

const (
	maxAllPass = 50
	longDelay  = 14 // of the bands above those with all-pass filters
	ownDelay   = 2  // of those with
	linkDelay  = 3  // of the first link; one more in each after it
)

// allPass is the past of a band's links.
type allPass [allPasses][linkDelay + allPasses - 1 + columns]complex64

// allPassGains is exp(-delay/7) of each link; they fade by fadeSlope a band.
var allPassGains = [allPasses]float32{0.65143905753106, 0.56471812200776, 0.48954165955695}

const fadeSlope = 0.05

// peak follows how loud a band of parameters is, to notice sudden sounds.
type peak struct{ decaying, power, above float32 }

const (
	peakDecay   = 0.76592833836465
	peakSmooth  = 0.25
	suddenRatio = 1.5
)

// run makes out of in; from top on in is silent.
func (d *decorrelator) run(l *layout, anew bool, top int, in, out *[maxBands][columns]complex64) {
	if anew {
		*d = decorrelator{}
	}
	clear(d.past[top:])
	clear(d.links[min(top, maxAllPass):])
	gains := d.gains(l, in)
	var row [longDelay + columns]complex64
	for k := range l.bands {
		copy(row[:], d.past[k][:])
		copy(row[longDelay:], in[k][:])
		copy(d.past[k][:], in[k][columns-longDelay:])
		gain := &gains[l.of[k]]
		switch {
		case k < l.allPass:
			fade := min(1, max(0, 1-fadeSlope*float32(k-l.fade)))
			d.links[k].run(l.delay[k], &l.links[k], fade, row[longDelay-ownDelay:], &out[k])
			for i := range out[k] {
				out[k][i] = scale(out[k][i], gain[i])
			}
		case k < l.short:
			for i := range out[k] {
				out[k][i] = scale(row[i], gain[i])
			}
		default:
			for i := range out[k] {
				out[k][i] = scale(row[longDelay-1+i], gain[i])
			}
		}
	}
}

// gains returns how much is left in each column of each band of parameters.
func (d *decorrelator) gains(l *layout, in *[maxBands][columns]complex64) (gains [maxParameters][columns]float32) {
	for k := range l.bands {
		power := &gains[l.of[k]]
		for i, x := range in[k] {
			power[i] += real(x)*real(x) + imag(x)*imag(x)
		}
	}
	for b := range l.parameters {
		p := &d.peaks[b]
		for i, power := range gains[b] {
			p.decaying = max(peakDecay*p.decaying, power)
			p.power += peakSmooth * (power - p.power)
			p.above += peakSmooth * (p.decaying - power - p.above)
			gains[b][i] = 1
			if sudden := suddenRatio * p.above; sudden > p.power {
				gains[b][i] = p.power / sudden
			}
		}
	}
	return gains
}

// run filters a band; in is late by ownDelay columns.
func (a *allPass) run(delay complex64, links *[allPasses]complex64, fade float32, in []complex64, out *[columns]complex64) {
	for m := range a {
		copy(a[m][:], a[m][columns:])
	}
	for i := range out {
		x := in[i] * delay
		for m := range a {
			gain := allPassGains[m] * fade
			const newest = linkDelay + allPasses - 1
			before := x
			x = a[m][newest-linkDelay-m+i]*links[m] - scale(x, gain)
			a[m][newest+i] = before + scale(x, gain)
		}
		out[i] = x
	}
}
