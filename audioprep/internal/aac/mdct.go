package aac

import "math"

// The inverse MDCT of n lines has 2n values, but only n different ones: it is the
// cosine transform of type IV, c, of which the first half is mirrored with its sign
// turned and the second half is mirrored as it is. And a cosine transform of type IV of
// n is a Fourier transform of n/2 complex numbers, turned before and after.

// mdct is the tables for one length.
type mdct struct {
	lines int
	turn  []complex64 // exp(-iπ(k+⅛)/n)
	roots []complex64 // exp(-2πik/(n/2))
}

var (
	longMDCT  = newMDCT(frameLines)
	shortMDCT = newMDCT(shortLines)
)

func newMDCT(lines int) *mdct {
	m := &mdct{lines: lines, turn: make([]complex64, lines/2), roots: make([]complex64, lines/2)}
	for k := range m.turn {
		sin, cos := math.Sincos(-math.Pi * (float64(k) + 0.125) / float64(lines))
		m.turn[k] = complex(float32(cos), float32(sin))
		sin, cos = math.Sincos(-2 * math.Pi * float64(k) / float64(lines/2))
		m.roots[k] = complex(float32(cos), float32(sin))
	}
	return m
}

// mdctScratch is room for one transform.
type mdctScratch struct{ a, b [frameLines / 2]complex64 }

// dct4 replaces x by its cosine transform of type IV,
// c[m] = Σ x[k]·cos(π/n·(m+½)(k+½)), times scale.
func (m *mdct) dct4(x []float32, scale float32, s *mdctScratch) {
	half := m.lines / 2
	x = x[:m.lines]
	a, b := s.a[:half], s.b[:half]
	turn := m.turn[:half]
	for k := range a {
		re, im := x[2*k]*scale, x[m.lines-1-2*k]*scale
		c, d := real(turn[k]), imag(turn[k])
		a[k] = complex(re*c-im*d, re*d+im*c)
	}
	for k, v := range m.fourier(a, b) {
		c, d := real(turn[k]), imag(turn[k])
		x[2*k] = real(v)*c - imag(v)*d
		x[m.lines-1-2*k] = -(real(v)*d + imag(v)*c)
	}
}

// fourier transforms x with y as scratch and returns the one that holds the result:
// four parts at a time, sorted on the way (Stockham), and at last perhaps two.
func (m *mdct) fourier(x, y []complex64) []complex64 {
	n, s := len(x), 1
	for ; n >= 4; n, s = n/4, s*4 {
		q := n / 4
		for p := range q {
			w1, w2, w3 := m.roots[p*s], m.roots[2*p*s], m.roots[3*p*s]
			in0, in1 := x[s*p:s*p+s], x[s*(p+q):s*(p+q)+s]
			in2, in3 := x[s*(p+2*q):s*(p+2*q)+s], x[s*(p+3*q):s*(p+3*q)+s]
			out := y[4*s*p : 4*s*p+4*s]
			out0, out1, out2, out3 := out[:s], out[s:2*s], out[2*s:3*s], out[3*s:]
			for i, a := range in0 {
				b, c, d := in1[i], in2[i], in3[i]
				ac, bd := a+c, b+d
				am, bm := a-c, b-d
				jb := complex(-imag(bm), real(bm))
				out0[i] = ac + bd
				out1[i] = times(w1, am-jb)
				out2[i] = times(w2, ac-bd)
				out3[i] = times(w3, am+jb)
			}
		}
		x, y = y, x
	}
	if n == 2 {
		for i := range s {
			a, b := x[i], x[s+i]
			y[i], y[s+i] = a+b, a-b
		}
		x = y
	}
	return x
}

func times(a, b complex64) complex64 {
	return complex(real(a)*real(b)-imag(a)*imag(b), real(a)*imag(b)+imag(a)*real(b))
}
