// Package mdct computes the transform that lossy audio codecs are made of.
//
// The inverse modified discrete cosine transform turns M coefficients into 2M
// samples that overlap by half with those of the blocks before and behind:
//
//	y[i] = Σ X[k] cos(π/M (i + 1/2 + M/2) (k + 1/2))    i = 0 … 2M-1
//
// It has M different values only, which are a DCT of type IV:
//
//	d[j] = Σ X[k] cos(π/M (j + 1/2) (k + 1/2))          j = 0 … M-1
//
//	y = d[M/2 … M-1], -d[M-1 … 0], -d[0 … M/2-1]
//
// (each part in the order its bounds say). The DCT is an FFT of M/2 points
// between two rotations (Malvar, Signal Processing with Lapped Transforms, 1992,
// section 2.5).
package mdct

import (
	"fmt"
	"math"
)

// DCT4 is a discrete cosine transform of type IV. Not for concurrent use.
type DCT4 struct {
	n      int
	rotate []complex64 // exp(-iπ(k+1/8)/n)
	fft    *fft
	z      []complex64
}

// NewDCT4 prepares a transform of n values: an even number whose half has no
// prime factors but 2, 3 and 5. It panics for any other.
func NewDCT4(n int) *DCT4 {
	if n < 2 || n%2 != 0 {
		panic(fmt.Sprintf("mdct: a DCT-IV of %d values", n))
	}
	d := &DCT4{n: n, fft: newFFT(n / 2), z: make([]complex64, n/2), rotate: make([]complex64, n/2)}
	for k := range d.rotate {
		d.rotate[k] = unit(-float64(8*k+1) / float64(16*n))
	}
	return d
}

// unit is exp(2πi·turns).
func unit(turns float64) complex64 {
	sin, cos := math.Sincos(2 * math.Pi * turns)
	return complex(float32(cos), float32(sin))
}

// Transform replaces the n values of x by their transform, which is not scaled:
// twice, it gives n/2 times x.
func (d *DCT4) Transform(x []float32) {
	n := d.n
	x = x[:n]
	z, rotate := d.z[:n/2], d.rotate[:n/2]
	for k, w := range rotate {
		re, im := x[2*k], x[n-1-2*k]
		wr, wi := real(w), imag(w)
		z[k] = complex(re*wr-im*wi, re*wi+im*wr)
	}
	for k, v := range d.fft.transform(z) {
		w := rotate[k]
		re, im := real(v), imag(v)
		wr, wi := real(w), imag(w)
		x[2*k] = re*wr - im*wi
		x[n-1-2*k] = -(re*wi + im*wr)
	}
}
