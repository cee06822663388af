package celt

import "math"

// Lost frames are made up, which the RFC leaves open (section 4.4); this follows its
// reference implementation. The first few repeat the last period of the signal, through a
// filter that predicts it, so that only what the filter does not know is repeated; later
// ones, and those above SILK, are noise of the bands' energies, fading to the background.

const (
	lpcOrder    = 24
	longest     = 1024 // samples that are looked at
	maxRepeated = 5    // frames
)

// pitch is what the frames made up have in common.
type pitch struct {
	period int
	lpc    [2][lpcOrder]float32
}

// Conceal makes up a frame in place of one that is lost. start and end are bands, as in a
// frame's form.
func (d *Decoder) Conceal(log, start, end int, out [][]float32) {
	f := &frame{log: log, channels: d.outputs, start: start, end: end}
	n := shortBins << log
	if d.lost >= maxRepeated || start > 0 || d.unsure {
		d.makeNoise(f, n)
	} else {
		d.repeat(n)
	}
	d.lost++
	d.emit(out, n)
}

// makeNoise appends n samples of noise.
func (d *Decoder) makeNoise(f *frame, n int) {
	decay := float32(0.5)
	if d.lost == 0 {
		decay = 1.5
	}
	for c := range d.outputs {
		e := &d.energies[c]
		for i := f.start; i < f.end; i++ {
			e[i] = max(d.background[c][i], e[i]-decay)
			x := d.spectrum[c][bandEdges[i]<<f.log:][:f.width(i)]
			for k := range x {
				d.seed = random(d.seed)
				x[k] = float32(int32(d.seed) >> 20)
			}
			normalize(x, 1)
		}
	}
	d.synthesize(f, n)
}

// repeat appends n samples of the last period.
func (d *Decoder) repeat(n int) {
	fade := float32(0.8)
	if d.lost == 0 {
		d.pitch.period = findPeriod(d.signal[:d.outputs])
		fade = 1
	}
	for c := range d.outputs {
		d.repeatChannel(c, n, fade)
	}
}

func (d *Decoder) repeatChannel(c, n int, fade float32) {
	x, lpc := &d.signal[c], &d.pitch.lpc[c]
	if d.lost == 0 {
		var windowed [longest]float32
		copy(windowed[:], x[past-longest:])
		for i, w := range window {
			windowed[i] *= w
			windowed[longest-1-i] *= w
		}
		predictor(lpc[:], windowed[:])
	}
	// What the filter does not predict of the last two periods.
	period := d.pitch.period
	var buffer [longest]float32
	length := min(2*period, longest)
	residual := buffer[:length]
	for i := range residual {
		at := past - length + i
		v := x[at]
		for j, a := range lpc {
			v += a * x[at-1-j]
		}
		residual[i] = v
	}
	decay := decayOf(residual)
	fade *= decay
	residual = residual[length-period:]

	copy(x[:past-n], x[n:past])
	expected := float32(0) // energy
	tail := x[past-n:]
	for i, j := 0, 0; i < len(tail); i, j = i+1, j+1 {
		if j == period {
			j = 0
			fade *= decay
		}
		tail[i] = fade * residual[j]
		v := x[past-n-period+j]
		expected += v * v
	}
	for i := range tail {
		v := tail[i]
		for j, a := range lpc {
			v -= a * x[past-n+i-1-j]
		}
		tail[i] = v
	}
	limit(tail, expected)
	d.endRepeated(x)
}

// decayOf is by how much the second half of x is quieter than the first.
func decayOf(x []float32) float32 {
	half := len(x) / 2
	x = x[len(x)-2*half:]
	a, b := float32(1), float32(1)
	for i, v := range x[:half] {
		a += v * v
		b += x[half+i] * x[half+i]
	}
	return float32(math.Sqrt(float64(min(a, b) / a)))
}

// limit makes x no louder than expected.
func limit(x []float32, expected float32) {
	sum := float32(0)
	for _, v := range x {
		sum += v * v
	}
	if !(expected > 0.2*sum) { // the filter has run wild, to NaN perhaps
		clear(x)
		return
	}
	if expected >= sum {
		return
	}
	ratio := float32(math.Sqrt(float64((expected + 1) / (sum + 1))))
	for i := range x {
		gain := ratio
		if i < overlap {
			gain = 1 - window[i]*(1-ratio)
		}
		x[i] *= gain
	}
}

// endRepeated turns the overlap behind the samples made up into what an MDCT block would
// have left there, for the next block to join.
func (d *Decoder) endRepeated(x *[past + overlap]float32) {
	p := d.postfilter[0]
	p.gain = -p.gain // the filter is yet to come
	g, period := p.gains(), max(p.period, minPeriod)
	var end [overlap]float32
	for i := range end {
		end[i] = x[past+i] + around(x[past+i-period-2:], &g)
	}
	for i := range overlap / 2 {
		j := overlap - 1 - i
		x[past+i] = window[i]*end[j] + window[j]*end[i]
	}
}
