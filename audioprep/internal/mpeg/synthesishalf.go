package mpeg

// Who needs nothing above a quarter of the rate needs but every other sample. With the upper half
// of the subbands empty the polyphase filter makes them for less than half the work: the even
// samples come from the even results of its cosine transform, the odd ones from the odd results,
// and both are transforms of 16.

// halfWindows is the window for even and for odd samples.
var halfWindows = func() (w [2][256]float32) {
	for i, v := range synthesisWindow {
		w[i%2][i/2] = v
	}
	return w
}()

// synthesisHalf is the state of one channel: a ring of the last 16 vectors of 32.
type synthesisHalf struct {
	v  [16][subbands]float32
	at int // the newest
}

// run makes 16 samples, even ones or with odd 1 the odd ones, of the lower half of s, which
// it destroys, and writes them to out[0], out[step]…
func (f *synthesisHalf) run(s *[subbands]float32, odd int, out []float32, step int) {
	f.at = (f.at + 15) % 16
	v := &f.v[f.at]
	x := (*[subbands / 2]float32)(s[:])
	if odd == 1 {
		factors := dctFactors[:subbands/2]
		for k, c := range factors {
			x[k] *= c
		}
	}
	var y [subbands / 2]float32
	cosines(x[:], y[:])
	// As in synthesis.run, of what has an even or an odd place there.
	if odd == 0 {
		copy(v[:8], x[8:])
		v[8] = 0
		for i := 9; i <= 24; i++ {
			v[i] = -x[24-i]
		}
		for i := 25; i < 32; i++ {
			v[i] = -x[i-24]
		}
	} else {
		for i := range 15 {
			x[i] += x[i+1]
		}
		copy(v[:8], x[8:])
		for i := 8; i < 24; i++ {
			v[i] = -x[23-i]
		}
		for i := 24; i < 32; i++ {
			v[i] = -x[i-24]
		}
	}
	var sum [16]float32
	for i := range 8 {
		a := (*[16]float32)(f.v[(f.at+2*i)%16][:16])
		b := (*[16]float32)(f.v[(f.at+2*i+1)%16][16:])
		d := (*[32]float32)(halfWindows[odd][32*i:])
		for j := range sum {
			sum[j] += a[j]*d[j] + b[j]*d[16+j]
		}
	}
	for j, v := range sum {
		out[j*step] = v
	}
}
