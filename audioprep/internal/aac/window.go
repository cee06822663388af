package aac

import (
	"math"

	"hark/audioprep/internal/mdct"
)

// Windows rise over 1024 samples, or 128 for short ones; the second half mirrors the
// first. There are two shapes: a sine, and one after Kaiser and Bessel, which
// separates tones better (section 4.6.11.3.2).

var (
	longWindows  = [2][]float32{sineWindow(frameLines), kaiserWindow(frameLines, 4)}
	shortShapes  = [2][]float32{sineWindow(shortLines), kaiserWindow(shortLines, 6)}
	flatLines    = (frameLines - shortLines) / 2 // beside a short flank in a long window
	outputScale  = float32(1) / (frameLines * 32768)
	shortScaling = float32(1) / (shortLines * 32768)
)

func sineWindow(n int) []float32 {
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(math.Sin((float64(i) + 0.5) * math.Pi / float64(2*n)))
	}
	return w
}

func kaiserWindow(n int, alpha float64) []float32 {
	sums := make([]float64, n+1)
	total := 0.0
	for i := range sums {
		x := float64(4*i)/float64(2*n) - 1
		total += bessel(math.Pi * alpha * math.Sqrt(1-x*x))
		sums[i] = total
	}
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(math.Sqrt(sums[i] / total))
	}
	return w
}

// bessel is the modified Bessel function of the first kind and order 0.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-18*sum; k++ {
		term *= x * x / (4 * k * k)
		sum += term
	}
	return sum
}

// transform makes samples of lines.
type transform struct {
	long, brief *mdct.DCT4
	out         [frameLines + shortLines]float32
}

func newTransform() transform {
	return transform{long: mdct.NewDCT4(frameLines), brief: mdct.NewDCT4(shortLines)}
}

// lines transforms x, scaled.
func lines(t *mdct.DCT4, x []float32, scale float32) {
	for i := range x {
		x[i] *= scale
	}
	t.Transform(x)
}

// run writes the samples of c's packet to dst[0], dst[step]…, and keeps the second
// half of its window for the next one.
func (t *transform) run(c *channel, dst []float32, step int) {
	if c.info.sequence == sequenceShort {
		t.short(c, dst, step)
		return
	}
	f := &c.info
	// After it c.coef holds the values that the 2048 of the window are mirrored from:
	// first and second say how.
	lines(t.long, c.coef[:], outputScale)
	const half = frameLines / 2
	x := &c.coef
	out := t.out[:frameLines]
	up := longWindows[f.before]
	if f.sequence == sequenceStop {
		short := shortShapes[f.before]
		copy(out, c.behind[:flatLines])
		for i := flatLines; i < flatLines+shortLines; i++ {
			out[i] = c.behind[i] + first(x, i)*short[i-flatLines]
		}
		for i := flatLines + shortLines; i < frameLines; i++ {
			out[i] = first(x, i)
		}
	} else {
		for i := range half {
			out[i] = c.behind[i] + x[half+i]*up[i]
			out[frameLines-1-i] = c.behind[frameLines-1-i] - x[half+i]*up[frameLines-1-i]
		}
	}
	if f.sequence == sequenceStart {
		short := shortShapes[f.shape]
		for i := range flatLines {
			c.behind[i] = second(x, i)
		}
		for i := range shortLines {
			c.behind[flatLines+i] = second(x, flatLines+i) * short[shortLines-1-i]
		}
		clear(c.behind[flatLines+shortLines:])
	} else {
		down := longWindows[f.shape]
		for i := range half {
			// The second half mirrors itself.
			v := -x[half-1-i]
			c.behind[i] = v * down[frameLines-1-i]
			c.behind[frameLines-1-i] = v * down[i]
		}
	}
	for i, v := range out {
		dst[i*step] = v
	}
}

// first and second are value i of the window's halves, of the transform x.
func first(x *[frameLines]float32, i int) float32 {
	if i < frameLines/2 {
		return x[frameLines/2+i]
	}
	return -x[frameLines+frameLines/2-1-i]
}

func second(x *[frameLines]float32, i int) float32 {
	if i < frameLines/2 {
		return -x[frameLines/2-1-i]
	}
	return -x[i-frameLines/2]
}

// short adds up eight short windows, which stand in the middle of the packet's 2048
// samples, each half over the one before.
func (t *transform) short(c *channel, dst []float32, step int) {
	const half = shortLines / 2
	out := &t.out
	clear(out[:])
	up := shortShapes[c.info.before]
	down := shortShapes[c.info.shape]
	for w := range shortWindows {
		x := c.coef[w*shortLines : (w+1)*shortLines]
		lines(t.brief, x, shortScaling)
		at := out[w*shortLines : (w+2)*shortLines]
		for i := range half {
			at[i] += x[half+i] * up[i]
			at[shortLines-1-i] -= x[half+i] * up[shortLines-1-i]
			v := -x[half-1-i]
			at[shortLines+i] = v * down[shortLines-1-i]
			at[2*shortLines-1-i] = v * down[i]
		}
		up = down
	}
	// The first flatLines samples are of the window before alone.
	for i := range flatLines {
		dst[i*step] = c.behind[i]
	}
	for i := flatLines; i < frameLines; i++ {
		dst[i*step] = c.behind[i] + out[i-flatLines]
	}
	n := copy(c.behind[:], out[frameLines-flatLines:])
	clear(c.behind[n:])
}
