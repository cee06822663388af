package mdct

import "fmt"

// fft is a complex Fourier transform in the form of Stockham, which needs no
// reordering: each pass goes from one buffer to the other (Van Loan,
// Computational Frameworks for the Fast Fourier Transform, section 1.7).
type fft struct {
	passes []fftPass
	other  []complex64
}

// fftPass turns n/radix transforms of radix points, m apart and stride of them
// side by side.
type fftPass struct {
	radix, m, stride int
	twiddle          []complex64 // radix-1 for each of m
}

func newFFT(n int) *fft {
	f := &fft{other: make([]complex64, n)}
	for left, stride := n, 1; left > 1; {
		radix := 0
		for _, r := range []int{4, 2, 3, 5} {
			if left%r == 0 {
				radix = r
				break
			}
		}
		if radix == 0 {
			panic(fmt.Sprintf("mdct: a transform of %d points", n))
		}
		p := fftPass{radix: radix, m: left / radix, stride: stride}
		for k := range p.m {
			for i := 1; i < radix; i++ {
				p.twiddle = append(p.twiddle, unit(-float64(i*k)/float64(left)))
			}
		}
		f.passes = append(f.passes, p)
		left, stride = p.m, stride*radix
	}
	return f
}

// transform returns the transform of x, in x or in a buffer of f's; x is used up.
func (f *fft) transform(x []complex64) []complex64 {
	y := f.other
	for i := range f.passes {
		p := &f.passes[i]
		switch p.radix {
		case 4:
			p.radix4(y, x)
		case 2:
			p.radix2(y, x)
		case 3:
			p.radix3(y, x)
		default:
			p.radix5(y, x)
		}
		x, y = y, x
	}
	return x
}

func mul(a, b complex64) complex64 {
	return complex(real(a)*real(b)-imag(a)*imag(b), real(a)*imag(b)+imag(a)*real(b))
}

// turn is a·i.
func turn(a complex64) complex64 { return complex(-imag(a), real(a)) }

func (p *fftPass) radix4(y, x []complex64) {
	s, n := p.stride, p.m*p.stride
	switch {
	case s == 1:
		p.first4(y, x)
		return
	case s == 4:
		p.second4(y, x)
		return
	}
	for k := range p.m {
		w1, w2, w3 := p.twiddle[3*k], p.twiddle[3*k+1], p.twiddle[3*k+2]
		x0, x1, x2, x3 := x[s*k:][:s], x[s*k+n:][:s], x[s*k+2*n:][:s], x[s*k+3*n:][:s]
		y0, y1, y2, y3 := y[4*s*k:][:s], y[4*s*k+s:][:s], y[4*s*k+2*s:][:s], y[4*s*k+3*s:][:s]
		for q := range s {
			a, b, c, d := x0[q], x1[q], x2[q], x3[q]
			sum, diff := a+c, a-c
			odd, cross := b+d, turn(b-d)
			y0[q] = sum + odd
			y1[q] = mul(diff-cross, w1)
			y2[q] = mul(sum-odd, w2)
			y3[q] = mul(diff+cross, w3)
		}
	}
}

// first4 is radix4 without what is side by side.
func (p *fftPass) first4(y, x []complex64) {
	n := p.m
	x0, x1, x2, x3 := x[:n], x[n:][:n], x[2*n:][:n], x[3*n:][:n]
	y, w := y[:4*n], p.twiddle[:3*n]
	for k, a := range x0 {
		b, c, d := x1[k], x2[k], x3[k]
		sum, diff := a+c, a-c
		odd, cross := b+d, turn(b-d)
		y[4*k] = sum + odd
		y[4*k+1] = mul(diff-cross, w[3*k])
		y[4*k+2] = mul(sum-odd, w[3*k+1])
		y[4*k+3] = mul(diff+cross, w[3*k+2])
	}
}

// second4 is radix4 for four side by side, where loops would be more work than what is in them.
func (p *fftPass) second4(y, x []complex64) {
	n := p.m * 4
	for k := range p.m {
		w := (*[3]complex64)(p.twiddle[3*k:])
		x0, x1 := (*[4]complex64)(x[4*k:]), (*[4]complex64)(x[4*k+n:])
		x2, x3 := (*[4]complex64)(x[4*k+2*n:]), (*[4]complex64)(x[4*k+3*n:])
		out := (*[16]complex64)(y[16*k:])
		for q := range 4 {
			a, b, c, d := x0[q], x1[q], x2[q], x3[q]
			sum, diff := a+c, a-c
			odd, cross := b+d, turn(b-d)
			out[q] = sum + odd
			out[4+q] = mul(diff-cross, w[0])
			out[8+q] = mul(sum-odd, w[1])
			out[12+q] = mul(diff+cross, w[2])
		}
	}
}

func (p *fftPass) radix2(y, x []complex64) {
	s, n := p.stride, p.m*p.stride
	if p.m == 1 { // the last pass turns nothing
		x0, x1, y0, y1 := x[:s], x[s:][:s], y[:s], y[s:][:s]
		for q, a := range x0 {
			b := x1[q]
			y0[q], y1[q] = a+b, a-b
		}
		return
	}
	for k := range p.m {
		w := p.twiddle[k]
		for q := range s {
			a, b := x[s*k+q], x[s*k+q+n]
			y[2*s*k+q] = a + b
			y[2*s*k+s+q] = mul(a-b, w)
		}
	}
}

func (p *fftPass) radix3(y, x []complex64) {
	const half, sin60 = -0.5, 0.8660254037844386
	s, n := p.stride, p.m*p.stride
	for k := range p.m {
		w1, w2 := p.twiddle[2*k], p.twiddle[2*k+1]
		for q := range s {
			a, b, c := x[s*k+q], x[s*k+q+n], x[s*k+q+2*n]
			sum := b + c
			mid := a + complex(half*real(sum), half*imag(sum))
			cross := b - c
			cross = turn(complex(sin60*real(cross), sin60*imag(cross)))
			y[3*s*k+q] = a + sum
			y[3*s*k+s+q] = mul(mid-cross, w1)
			y[3*s*k+2*s+q] = mul(mid+cross, w2)
		}
	}
}

func (p *fftPass) radix5(y, x []complex64) {
	const (
		cos1, sin1 = 0.30901699437494745, 0.9510565162951535
		cos2, sin2 = -0.8090169943749475, 0.5877852522924731
	)
	scale := func(f float32, a complex64) complex64 { return complex(f*real(a), f*imag(a)) }
	s, n := p.stride, p.m*p.stride
	for k := range p.m {
		w := p.twiddle[4*k:][:4]
		for q := range s {
			a := x[s*k+q]
			b, e := x[s*k+q+n], x[s*k+q+4*n]
			c, d := x[s*k+q+2*n], x[s*k+q+3*n]
			be, cd := b+e, c+d
			m1 := a + scale(cos1, be) + scale(cos2, cd)
			m2 := a + scale(cos2, be) + scale(cos1, cd)
			t1 := turn(scale(sin1, b-e) + scale(sin2, c-d))
			t2 := turn(scale(sin2, b-e) - scale(sin1, c-d))
			out := y[5*s*k+q:]
			out[0] = a + be + cd
			out[s] = mul(m1-t1, w[0])
			out[2*s] = mul(m2-t2, w[1])
			out[3*s] = mul(m2+t2, w[2])
			out[4*s] = mul(m1+t1, w[3])
		}
	}
}
