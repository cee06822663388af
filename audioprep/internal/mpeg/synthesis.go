package mpeg

import "math"

// The polyphase filter makes 32 samples of one of each subband: a cosine
// transform, whose last 16 results are windowed and added. ISO/IEC 11172-3,
// figure A.2.

// synthesisWindow is table B.3 whole.
var synthesisWindow = func() (d [512]float32) {
	for i, v := range windowHalf {
		d[i] = float32(v) / 65536
		if i == 0 || i == 256 {
			continue
		}
		if i%64 != 0 {
			v = -v
		}
		d[512-i] = float32(v) / 65536
	}
	return d
}()

// synthesis is the state of one channel: a ring of the last 16 vectors of 64.
type synthesis struct {
	v  [16][64]float32
	at int // the newest
}

// run makes 32 samples of s, which it destroys, and writes them to
// out[0], out[step]…
func (f *synthesis) run(s *[32]float32, out []float32, step int) {
	f.at = (f.at + 15) % 16
	v := &f.v[f.at]
	// The matrix of the standard is a cosine transform of 32, mirrored.
	dct32(s)
	for i := range 16 {
		v[i] = s[16+i]
	}
	v[16] = 0
	for i := 17; i <= 48; i++ {
		v[i] = -s[48-i]
	}
	for i := 49; i < 64; i++ {
		v[i] = -s[i-48]
	}
	var sum [32]float32
	for i := range 8 {
		a := (*[32]float32)(f.v[(f.at+2*i)%16][:32])
		b := (*[32]float32)(f.v[(f.at+2*i+1)%16][32:])
		d := (*[64]float32)(synthesisWindow[64*i:])
		for j := range sum {
			sum[j] += a[j]*d[j] + b[j]*d[32+j]
		}
	}
	for j, v := range sum {
		out[j*step] = v
	}
}

// dctFactors is 1/(2·cos((2k+1)π/2n)) for n = 32, 16, 8, 4, 2, one after the other.
var dctFactors = func() (t [31]float32) {
	at := 0
	for n := 32; n > 1; n /= 2 {
		for k := range n / 2 {
			t[at] = float32(0.5 / math.Cos(float64(2*k+1)*math.Pi/float64(2*n)))
			at++
		}
	}
	return t
}()

// dct32 replaces x with its cosine transform, X[n] = Σ x[k]·cos(n(2k+1)π/64).
func dct32(x *[32]float32) {
	var y [32]float32
	cosines(x[:], y[:])
}

// cosines replaces x, 32 values or 16, with its cosine transform, by Lee's splitting (1984):
// the even results are the transform of the sums of outer and inner values, the odd ones
// follow from that of the scaled differences. y is scratch.
func cosines(x, y []float32) {
	size := len(x)
	// Down: rounds of sums and differences.
	src, dst := x, y
	at := subbands - size
	for n := size; n > 1; n /= 2 {
		f := dctFactors[at : at+n/2]
		for o := 0; o < size; o += n {
			in, lo, hi := src[o:o+n], dst[o:o+n/2], dst[o+n/2:o+n]
			for k, c := range f {
				a, b := in[k], in[n-1-k]
				lo[k] = a + b
				hi[k] = (a - b) * c
			}
		}
		src, dst = dst, src
		at += n / 2
	}
	// Up: interleave, adding neighbours in the odd half.
	for n := 2; n <= size; n *= 2 {
		for o := 0; o < size; o += n {
			out, lo, hi := dst[o:o+n], src[o:o+n/2], src[o+n/2:o+n]
			m := n/2 - 1
			for k := range m {
				out[2*k] = lo[k]
				out[2*k+1] = hi[k] + hi[k+1]
			}
			out[2*m] = lo[m]
			out[2*m+1] = hi[m]
		}
		src, dst = dst, src
	}
	// As many rounds up as down: the result is in x again.
}
