package celt

import "hark/audioprep/internal/opus/rangecoder"

// postfilter strengthens the harmonics of a pitch (section 4.3.7.1): a sample gets some of
// those a period before.
type postfilter struct {
	period int
	gain   float32
	taps   int // which of tapGains
}

// minPeriod is the shortest period.
const minPeriod = 15

// tapGains are of the samples a period before, and one and two beside.
var tapGains = [3][3]float32{
	{0.3066406250, 0.2170410156, 0.1296386719},
	{0.4638671875, 0.2680664062, 0},
	{0.7998046875, 0.1000976562, 0},
}

func readPostfilter(rc *rangecoder.Decoder) (p postfilter) {
	octave := int(rc.Uint(6))
	p.period = 16<<octave + int(rc.Bits(4+octave)) - 1
	p.gain = 0.09375 * float32(rc.Bits(3)+1)
	if rc.Tell()+2 <= 8*rc.Size() {
		p.taps = rc.Symbol(tapsetCode[:], 2)
	}
	return p
}

// filterPitch filters the new frame. A filter takes effect a short block late.
func (d *Decoder) filterPitch(f *frame) {
	n := shortBins << f.log
	for c := range d.outputs {
		x := d.signal[c][:past]
		comb(x, past-n, past-n+shortBins, d.postfilter[1], d.postfilter[0])
		comb(x, past-n+shortBins, past, d.postfilter[0], f.postfilter)
	}
	d.postfilter[1] = d.postfilter[0]
	d.postfilter[0] = f.postfilter
	if f.log > 0 {
		d.postfilter[1] = d.postfilter[0]
	}
}

// gains are of the sample a period before, and of those one and two beside it.
func (p *postfilter) gains() (g [3]float32) {
	for i, v := range tapGains[p.taps] {
		g[i] = p.gain * v
	}
	return g
}

// comb filters the samples of x from at to end, fading from one filter to the other.
func comb(x []float32, at, end int, from, to postfilter) {
	if from.gain == 0 && to.gain == 0 {
		return
	}
	t0, t1 := max(from.period, minPeriod), max(to.period, minPeriod)
	g0, g1 := from.gains(), to.gains()
	if from != to {
		for i, w := range window[:min(overlap, end-at)] {
			w *= w
			k := at + i
			x[k] += (1-w)*around(x[k-t0-2:], &g0) + w*around(x[k-t1-2:], &g1)
		}
		at = min(at+overlap, end)
	}
	if to.gain == 0 {
		return
	}
	for k := at; k < end; k++ {
		x[k] += around(x[k-t1-2:], &g1)
	}
}

// around is the weighted sum of x[2] and its neighbours.
func around(x []float32, g *[3]float32) float32 {
	y := (*[5]float32)(x)
	return g[0]*y[2] + g[1]*(y[1]+y[3]) + g[2]*(y[0]+y[4])
}
