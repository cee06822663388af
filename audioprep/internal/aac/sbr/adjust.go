package sbr

import "math"

// adjuster is what the adjustment of a channel leaves to the next packet.
type adjuster struct {
	tones     [maxBands]bool // bands that the last envelope had tones in
	gains     [smoothing][maxBands]float32
	noises    [smoothing][maxBands]float32
	next      int               // of gains and noises, which are rings
	gain      [maxBands]float32 // of a column, smoothed
	noise     [maxBands]float32
	noiseAt   int  // in the noise table
	toneAt    int  // phase of the tones, in quarters
	wasSudden bool // the packet before ended with a transient at its end
}

// smoothing is how many columns before a gain goes into it, with what weight, the newest
// first (section 4.6.18.7.6).
const smoothing = 4

var smoothingWeights = [smoothing + 1]float32{
	0.33333333333333, 0.30150283239582, 0.21816949906249, 0.11516383427084, 0.03183050093751,
}

// limiterGains is how far bands may be raised above the mean of their limiter band
// (section 4.6.18.7.5).
var limiterGains = [4]float32{0.70795, 1, 1.41254, 1e10}

const (
	noiseLength = 512
	maxGain     = 1e5
	maxBoost    = 1.584893192 // 2 dB
	epsilon     = 1e-12
)

// envelope is what is to be done with each copied band during one envelope.
type envelope struct {
	energy [maxBands]float32 // that is wanted
	ratio  [maxBands]float32 // of noise to the rest
	toneIn [maxBands]bool    // a tone stands in the middle of this band
	toned  [maxBands]bool    // the envelope's band has a tone somewhere
	have   [maxBands]float32 // energy of what was copied
	gain   [maxBands]float32
	noise  [maxBands]float32
	tone   [maxBands]float32
}

// adjust gives the copied bands of a channel the energy, noise and tones that the encoder
// measured (section 4.6.18.7).
func (e *Element) adjust(c *channel) {
	var v envelope
	a := &c.adjust
	for i := range c.envelopes {
		e.placeTones(c, &v, i)
		e.spread(c, &v, i)
		e.measure(c, &v, i)
		sudden := i == c.transient || i == 0 && a.wasSudden
		e.setGains(&v, sudden)
		if e.reset && i == 0 {
			for j := range smoothing {
				a.gains[j], a.noises[j] = v.gain, v.noise
			}
			a.noiseAt = 0
		}
		e.fill(c, &v, i, sudden)
		a.tones = v.toneIn
	}
	a.wasSudden = c.transient == c.envelopes
}

// placeTones finds the bands that have a tone: the middle of each band of high resolution with
// one, from the transient on or where it went on from before.
func (e *Element) placeTones(c *channel, v *envelope, i int) {
	before := c.adjust.tones
	v.toneIn = [maxBands]bool{}
	if !c.tones {
		return
	}
	high := e.f.high
	for b := range len(high) - 1 {
		middle := (high[b]+high[b+1])/2 - e.f.kx
		v.toneIn[middle] = c.tone[b] && (i >= c.transient || before[middle])
	}
}

// spread gives every band what the envelope's band that it is in has.
func (e *Element) spread(c *channel, v *envelope, i int) {
	kx := e.f.kx
	table := e.f.table(c.fine[i])
	for b := range len(table) - 1 {
		from, to := table[b]-kx, table[b+1]-kx
		toned := false
		for m := from; m < to; m++ {
			toned = toned || v.toneIn[m]
		}
		for m := from; m < to; m++ {
			v.energy[m], v.toned[m] = c.energy[i][b], toned
		}
	}
	floor := 0
	if c.noises > 1 && c.border[i] >= c.noiseBorder[1] {
		floor = 1
	}
	for q := range len(e.f.noise) - 1 {
		for m := e.f.noise[q] - kx; m < e.f.noise[q+1]-kx; m++ {
			v.ratio[m] = c.noise[floor][q]
		}
	}
}

// table is the bands of an envelope.
func (f *bandTables) table(fine bool) []int {
	if fine {
		return f.high
	}
	return f.low
}

// measure finds the mean energy of what was copied, band by band or over the envelope's
// bands.
func (e *Element) measure(c *channel, v *envelope, i int) {
	from, to := 2*c.border[i], 2*c.border[i+1]
	for m := range e.f.m {
		sum := float32(0)
		for _, x := range e.generate.high[e.f.kx+m][from:to] {
			sum += real(x)*real(x) + imag(x)*imag(x)
		}
		v.have[m] = sum / float32(to-from)
	}
	if e.header.interpolate {
		return
	}
	table := e.f.table(c.fine[i])
	for b := range len(table) - 1 {
		have := v.have[table[b]-e.f.kx : table[b+1]-e.f.kx]
		sum := float32(0)
		for _, x := range have {
			sum += x
		}
		for m := range have {
			have[m] = sum / float32(len(have))
		}
	}
}

// setGains works out how much of the copy, of noise and of tones makes the energy that is
// wanted. Gains far above the mean of their surroundings would raise noise: they are limited,
// and what that takes away is given back to all (section 4.6.18.7.5).
func (e *Element) setGains(v *envelope, sudden bool) {
	withNoise := float32(1)
	if sudden {
		withNoise = 0
	}
	limits := e.f.limits
	for l := range len(limits) - 1 {
		from, to := limits[l]-e.f.kx, limits[l+1]-e.f.kx
		wanted, have := float32(epsilon), float32(epsilon)
		for m := from; m < to; m++ {
			ratio := v.ratio[m]
			share := v.energy[m] / (1 + ratio)
			v.noise[m] = sqrt(share * ratio)
			v.tone[m] = 0
			if v.toneIn[m] {
				v.tone[m] = sqrt(share)
			}
			if v.toned[m] {
				v.gain[m] = sqrt(share * ratio / (1 + v.have[m]))
			} else {
				v.gain[m] = sqrt(v.energy[m] / ((1 + v.have[m]) * (1 + ratio*withNoise)))
			}
			wanted += v.energy[m]
			have += v.have[m]
		}
		most := min(maxGain, limiterGains[e.header.limiterGain]*sqrt(wanted/have))
		got := float32(epsilon)
		for m := from; m < to; m++ {
			if v.gain[m] > most {
				v.noise[m] *= most / v.gain[m]
				v.gain[m] = most
			}
			got += v.have[m]*v.gain[m]*v.gain[m] + v.tone[m]*v.tone[m]
			if v.tone[m] == 0 {
				got += withNoise * v.noise[m] * v.noise[m]
			}
		}
		boost := min(maxBoost, sqrt(wanted/got))
		for m := from; m < to; m++ {
			v.gain[m] *= boost
			v.noise[m] *= boost
			v.tone[m] *= boost
		}
	}
}

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

// fill writes the columns of an envelope.
func (e *Element) fill(c *channel, v *envelope, i int, sudden bool) {
	a := &c.adjust
	kx, m := e.f.kx, e.f.m
	for l := 2 * c.border[i]; l < 2*c.border[i+1]; l++ {
		gain, noises := &v.gain, &v.noise
		if e.header.smooth && !sudden {
			gain, noises = a.smooth(v, m)
		}
		a.push(v)
		out := c.upper[c.turn][l][kx : kx+m]
		for n := range out {
			out[n] = scale(e.generate.high[kx+n][l], gain[n])
		}
		a.addTones(out, v, kx)
		if !sudden {
			a.addNoise(out, v, noises)
		}
		a.noiseAt = (a.noiseAt + m) % noiseLength
		a.toneAt = (a.toneAt + 1) % 4
	}
}

// smooth returns the gains of a column with those before it in them.
func (a *adjuster) smooth(v *envelope, m int) (gain, noises *[maxBands]float32) {
	gain, noises = &a.gain, &a.noise
	for n := range m {
		g, q := v.gain[n]*smoothingWeights[0], v.noise[n]*smoothingWeights[0]
		for j := 1; j <= smoothing; j++ {
			at := (a.next + smoothing - j) % smoothing
			g += a.gains[at][n] * smoothingWeights[j]
			q += a.noises[at][n] * smoothingWeights[j]
		}
		gain[n], noises[n] = g, q
	}
	return gain, noises
}

// push remembers the gains of a column.
func (a *adjuster) push(v *envelope) {
	a.gains[a.next], a.noises[a.next] = v.gain, v.noise
	a.next = (a.next + 1) % smoothing
}

// addTones adds a tone in the middle of its band, which every column turns by a quarter:
// 1, i, -1, -i, and the other way round in every other band.
func (a *adjuster) addTones(out []complex64, v *envelope, kx int) {
	for n := range out {
		tone := v.tone[n]
		if tone == 0 {
			continue
		}
		if a.toneAt >= 2 {
			tone = -tone
		}
		switch {
		case a.toneAt%2 == 0:
			out[n] += complex(tone, 0)
		case (n+kx)%2 == 0:
			out[n] += complex(0, tone)
		default:
			out[n] += complex(0, -tone)
		}
	}
}

// addNoise adds noise where there is no tone.
func (a *adjuster) addNoise(out []complex64, v *envelope, level *[maxBands]float32) {
	for n := range out {
		at := (a.noiseAt + n + 1) % noiseLength
		if v.tone[n] == 0 {
			out[n] += complex(level[n]*noise[2*at], level[n]*noise[2*at+1])
		}
	}
}
