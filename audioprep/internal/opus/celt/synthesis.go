package celt

import "math"

// window is the rising slope of blocks (section 4.3.7).
var window = func() (w [overlap]float32) {
	for i := range w {
		s := math.Sin(math.Pi / 2 * (float64(i) + 0.5) / overlap)
		w[i] = float32(math.Sin(math.Pi / 2 * s * s))
	}
	return w
}()

// shift makes room for n samples at the end of the signal.
func (d *Decoder) shift(n int) {
	for c := range d.outputs {
		x := &d.signal[c]
		copy(x[:past-n+overlap/2], x[n:past+overlap/2])
	}
}

// synthesize appends n samples to the signal, made of the shapes in d.spectrum.
func (d *Decoder) synthesize(f *frame, n int) {
	d.shift(n)
	for c := range f.channels {
		d.scale(f, c)
	}
	if d.outputs == 1 && f.channels == 2 {
		for i, v := range d.spectrum[1][:n] {
			d.spectrum[0][i] = (d.spectrum[0][i] + v) / 2
		}
	}
	for c := range d.outputs {
		d.transform(f, d.spectrum[min(c, f.channels-1)][:n], d.signal[c][past-n:])
	}
}

// scale gives the shapes of channel c their energies.
func (d *Decoder) scale(f *frame, c int) {
	x := &d.spectrum[c]
	clear(x[:bandEdges[f.start]<<f.log])
	for i := f.start; i < f.end; i++ {
		gain := power2(min(32, d.energies[c][i]+energyMeans[i]))
		band := x[bandEdges[i]<<f.log:][:f.width(i)]
		for k := range band {
			band[k] *= gain
		}
	}
	clear(x[bandEdges[f.end]<<f.log:])
	if f.silence {
		clear(x[:])
	}
}

// transform appends the inverse MDCT of the spectrum, whose blocks are interleaved. dst
// begins with half an overlap of what was before.
func (d *Decoder) transform(f *frame, spectrum, dst []float32) {
	blocks, log := 1, f.log
	if f.transient {
		blocks, log = 1<<f.log, 0
	}
	n := shortBins << log
	x := d.block[:n]
	for b := range blocks {
		for i := range x {
			x[i] = spectrum[i*blocks+b]
		}
		d.dct[log].Transform(x)
		y := dst[b*n:][:n+overlap/2]
		// The middle half is enough: what is left and right of it mirrors it.
		for i, v := range x {
			y[overlap/2+n-1-i] = -v
		}
		overlapAdd(y[:overlap])
	}
}

// overlapAdd joins the end of the block before, the first half of x, to the beginning
// of the next, the second half. Each continues as its mirror image, the latter with the
// sign turned.
func overlapAdd(x []float32) {
	for i, w := range window[:overlap/2] {
		j := overlap - 1 - i
		a, b, v := x[i], x[j], window[j]
		x[i] = v*a - w*b
		x[j] = w*a + v*b
	}
}

// emit writes the last n samples of the signal, an even number, to out, without the
// emphasis of high frequencies that the encoder has added. Two samples at a time wait for
// the one before.
func (d *Decoder) emit(out [][]float32, n int) {
	const (
		weight = 0.85000610
		full   = 1. / 32768
		tiny   = 1e-30 // keeps numbers from becoming denormal
	)
	for c := range d.outputs {
		last := d.emphasis[c]
		x, dst := d.signal[c][past-n:past], out[c][:n]
		for i := 1; i < len(x) && i < len(dst); i += 2 {
			a, b := x[i-1]+tiny, x[i]
			b += weight*a + weight*weight*last
			a += weight * last
			dst[i-1], dst[i] = full*a, full*b
			last = b
		}
		d.emphasis[c] = last
	}
}
