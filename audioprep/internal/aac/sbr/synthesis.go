package sbr

import "hark/audioprep/internal/mdct"

// synthesis makes 64 samples of each column (section 4.6.18.4.2):
//
//	v[n] = Σ Re(X[k]·exp(iπ/128·(k+1/2)(2n-255)))/64    k = 0 … 63, n = 0 … 127
//
// and adds up the last ten v, windowed. With C[n] and S[n], the cosine and the sine
// transform of type IV of the real and the imaginary parts, it is
//
//	v[n] = (S[n]-C[n])/64,  v[127-n] = (S[n]+C[n])/64    n = 0 … 63
type synthesis struct {
	dct    *mdct.DCT4
	v      [synthesisColumns][2 * bands]float32 // a ring
	newest int
	re, im [bands]float32
}

const synthesisColumns = 10

// synthesisWindow also undoes the scale of the analysis.
var synthesisWindow = func() (w [640]float32) {
	for i := range w {
		w[i] = float32(window[i] / (bands * fullScale))
	}
	return w
}()

func newSynthesis() *synthesis { return &synthesis{dct: mdct.NewDCT4(bands)} }

// run writes the samples of the columns to out[0], out[step]…
func (s *synthesis) run(in []column, out []float32, step int) {
	for l := range in {
		s.transform(&in[l])
		var sum [bands]float32
		for i := 0; i < synthesisColumns; i += 2 {
			a := (*[bands]float32)(s.v[(s.newest+i)%synthesisColumns][:bands])
			b := (*[bands]float32)(s.v[(s.newest+i+1)%synthesisColumns][bands:])
			w := (*[2 * bands]float32)(synthesisWindow[i*bands:])
			for k := range sum {
				sum[k] += a[k]*w[k] + b[k]*w[bands+k]
			}
		}
		at := l * bands * step
		for _, v := range sum {
			out[at] = v
			at += step
		}
	}
}

// transform makes the next v of a column.
func (s *synthesis) transform(x *column) {
	re, im := &s.re, &s.im
	for k := 0; k < bands; k += 2 {
		// A sine transform is a cosine transform of values with alternating signs, backwards.
		re[k], im[k] = real(x[k]), imag(x[k])
		re[k+1], im[k+1] = real(x[k+1]), -imag(x[k+1])
	}
	s.dct.Transform(re[:])
	s.dct.Transform(im[:])
	s.newest = (s.newest + synthesisColumns - 1) % synthesisColumns
	v := &s.v[s.newest]
	for n := range bands {
		c, sin := re[n], im[bands-1-n]
		v[n], v[2*bands-1-n] = sin-c, sin+c
	}
}
