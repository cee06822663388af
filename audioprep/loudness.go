package audioprep

import "math"

// Loudness as ITU-R BS.1770-4 and EBU R 128 define it: each channel passes two
// filters that weigh as the ear does (the K curve: a shelf for the head, a
// high-pass), its power is taken over blocks of 400 ms, one every 100 ms, and
// powers are summed over the channels, those behind the listener a little more. The
// result is the mean of all blocks but those below -70 LUFS and, of the rest, those
// more than 10 LU below their mean: pauses don't make a voice less loud.
const (
	loudnessStepsPerSecond = 10
	loudnessBlockSteps     = 4
	loudnessOffset         = -0.691 // BS.1770-4, formula 2: what makes 0 dBFS at 997 Hz come out at -3.01
	absoluteGate           = -70    // LUFS
	relativeGate           = -10    // LU
	surroundWeight         = 1.41   // BS.1770-4, table 3
)

// loudness measures interleaved blocks of one form.
type loudness struct {
	channels int
	step     int       // sample frames of a step
	taken    int       // of the step now
	filters  []kFilter // one for each channel
	weights  []float64
	power    float64   // weighted, summed over the step now
	steps    []float64 // mean power of each whole step
}

func newLoudness(channels, rate int) *loudness {
	l := &loudness{channels: channels, step: max(1, rate/loudnessStepsPerSecond), filters: make([]kFilter, channels),
		weights: channelWeights(channels)}
	for i := range l.filters {
		l.filters[i] = newKFilter(float64(rate))
	}
	return l
}

// channelWeights are BS.1770's for the usual orders: left, right, centre, lowest tones, two behind.
func channelWeights(channels int) []float64 {
	switch channels {
	case 5:
		return []float64{1, 1, 1, surroundWeight, surroundWeight}
	case 6:
		return []float64{1, 1, 1, 0, surroundWeight, surroundWeight}
	}
	w := make([]float64, channels)
	for i := range w {
		w[i] = 1
	}
	return w
}

// write takes whole sample frames.
func (l *loudness) write(block []float32) {
	for len(block) > 0 {
		n := min(l.step-l.taken, len(block)/l.channels)
		part := block[:n*l.channels]
		for c := range l.filters {
			l.power += l.weights[c] * l.filters[c].power(part[c:], l.channels)
		}
		block = block[len(part):]
		if l.taken += n; l.taken == l.step {
			l.steps = append(l.steps, l.power/float64(l.step))
			l.taken, l.power = 0, 0
		}
	}
}

// integrated is the loudness in LUFS of the steps of a whole upload; NaN where it is shorter than a block
// or never rises above the gate.
func integrated(steps []float64) float64 {
	var blocks []float64
	for i := loudnessBlockSteps; i <= len(steps); i++ {
		sum := 0.0
		for _, p := range steps[i-loudnessBlockSteps : i] {
			sum += p
		}
		blocks = append(blocks, sum/loudnessBlockSteps)
	}
	mean := meanAbove(blocks, powerAt(absoluteGate))
	mean = meanAbove(blocks, max(powerAt(absoluteGate), mean*math.Pow(10, relativeGate/10.)))
	if mean == 0 {
		return math.NaN()
	}
	return loudnessOffset + 10*math.Log10(mean)
}

// powerAt is the mean power that comes out at so many LUFS.
func powerAt(lufs float64) float64 { return math.Pow(10, (lufs-loudnessOffset)/10) }

// meanAbove is the mean of what lies above a limit, 0 of nothing.
func meanAbove(x []float64, limit float64) float64 {
	sum, n := 0.0, 0
	for _, v := range x {
		if v > limit {
			sum += v
			n++
		}
	}
	return sum / float64(max(1, n))
}

// kFilter is the K curve: two biquads, one behind the other.
type kFilter struct{ shelf, highPass biquad }

// newKFilter makes the filters for a sample rate. BS.1770-4 gives their coefficients for
// 48 kHz; these are the analogue filters behind them, as Brecht De Man found them
// ("Evaluation of Implementations of the EBU R128 Loudness Measurement", AES 145, 2018),
// brought to other rates by the bilinear transform.
func newKFilter(rate float64) kFilter {
	const shelfHz, shelfDB, shelfQ = 1681.9744509555319, 3.99984385397, 0.7071752369554193
	const passHz, passQ = 38.13547087613982, 0.5003270373253953
	k := math.Tan(math.Pi * min(shelfHz/rate, 0.49))
	high := math.Pow(10, shelfDB/20)
	band := math.Pow(high, 0.499666774155)
	a0 := 1 + k/shelfQ + k*k
	f := kFilter{shelf: biquad{
		b0: (high + band*k/shelfQ + k*k) / a0, b1: 2 * (k*k - high) / a0, b2: (high - band*k/shelfQ + k*k) / a0,
		a1: 2 * (k*k - 1) / a0, a2: (1 - k/shelfQ + k*k) / a0,
	}}
	k = math.Tan(math.Pi * passHz / rate)
	a0 = 1 + k/passQ + k*k
	f.highPass = biquad{b0: 1, b1: -2, b2: 1, a1: 2 * (k*k - 1) / a0, a2: (1 - k/passQ + k*k) / a0}
	return f
}

// power filters every stride-th sample of x and returns the sum of the results' squares.
func (f *kFilter) power(x []float32, stride int) float64 {
	sum := 0.0
	for i := 0; i < len(x); i += stride {
		v := f.highPass.next(f.shelf.next(float64(x[i])))
		sum += v * v
	}
	return sum
}

// biquad is a filter of second order in the transposed direct form II.
type biquad struct{ b0, b1, b2, a1, a2, z1, z2 float64 }

func (q *biquad) next(x float64) float64 {
	y := q.b0*x + q.z1
	q.z1 = q.b1*x - q.a1*y + q.z2
	q.z2 = q.b2*x - q.a2*y
	return y
}
