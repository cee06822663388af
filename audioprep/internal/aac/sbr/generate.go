package sbr

// generator copies the core's bands upwards and takes from them what tones they have, as
// much as the encoder wants: it filters each band by its own linear prediction (section
// 4.6.18.6).
type generator struct {
	low  [coreBands][ahead + columns]complex64 // the core, band by band
	high [bands][columns + overhang]complex64
	a0   [coreBands]complex64 // predictors
	a1   [coreBands]complex64
}

// load takes over the core's columns of this packet, below kx, and the last ones of the
// packet before, below before.
func (g *generator) load(c *channel, kx, before int) {
	now, last := &c.core[c.turn], &c.core[1-c.turn]
	for k := range g.low {
		row := &g.low[k]
		*row = [ahead + columns]complex64{}
		if k < before {
			for i := range ahead {
				row[i] = last[columns-ahead+i][k]
			}
		}
		if k < kx {
			for i := range columns {
				row[ahead+i] = now[i][k]
			}
		}
	}
}

// run makes the upper bands.
func (g *generator) run(c *channel, f *bandTables) {
	if c.setFlatten(len(f.noise) - 1) {
		for k := range f.k0 {
			g.a0[k], g.a1[k] = predictor(&g.low[k])
		}
	}
	from, to := 2*c.border[0], 2*c.border[c.envelopes]
	k, q := f.kx, 0
	for _, p := range f.patches {
		for s := p.from; s < p.from+p.n; s++ {
			for q < len(f.noise)-2 && k >= f.noise[q+1] {
				q++
			}
			in, out := g.low[s][from:to+delay], g.high[k][from:to]
			if flatten := c.flatten[q]; flatten > 0 {
				flattened(out, in, scale(g.a0[s], flatten), scale(g.a1[s], flatten*flatten))
			} else {
				copy(out, in[delay:])
			}
			k++
		}
	}
	for ; k < f.kx+f.m; k++ {
		g.high[k] = [columns + overhang]complex64{}
	}
}

// flattened adds to each value what is predicted of it from the two before, turned over.
func flattened(out, in []complex64, a0, a1 complex64) {
	in = in[:len(out)+delay]
	r0, i0, r1, i1 := real(a0), imag(a0), real(a1), imag(a1)
	before, last := in[0], in[1]
	for l := range out {
		x := in[l+delay]
		out[l] = complex(
			real(x)+r0*real(last)-i0*imag(last)+r1*real(before)-i1*imag(before),
			imag(x)+r0*imag(last)+i0*real(last)+r1*imag(before)+i1*real(before))
		before, last = last, x
	}
}

func scale(x complex64, by float32) complex64 { return complex(real(x)*by, imag(x)*by) }

// predictor returns the coefficients of the prediction from the last two columns, with which
// in[l] + a0·in[l-1] + a1·in[l-2] is smallest (section 4.6.18.6.2, covariance method).
func predictor(in *[ahead + columns]complex64) (a0, a1 complex64) {
	const n = columns + overhang
	var p01, p02, p12 complex128
	var p11, p22 float64
	for l := delay; l < delay+n; l++ {
		x0, x1, x2 := complex128(in[l]), complex128(in[l-1]), complex128(in[l-2])
		p01 += x0 * conj(x1)
		p02 += x0 * conj(x2)
		p12 += x1 * conj(x2)
		p11 += real(x1)*real(x1) + imag(x1)*imag(x1)
		p22 += real(x2)*real(x2) + imag(x2)*imag(x2)
	}
	var b0, b1 complex128
	if d := p22*p11 - (real(p12)*real(p12)+imag(p12)*imag(p12))/(1+1e-6); d != 0 {
		b1 = (p01*p12 - p02*complex(p11, 0)) / complex(d, 0)
	}
	if p11 != 0 {
		b0 = -(p01 + b1*conj(p12)) / complex(p11, 0)
	}
	const most = 16 // of the square of a coefficient
	if real(b0)*real(b0)+imag(b0)*imag(b0) >= most || real(b1)*real(b1)+imag(b1)*imag(b1) >= most {
		return 0, 0
	}
	return complex64(b0), complex64(b1)
}

func conj(x complex128) complex128 { return complex(real(x), -imag(x)) }

// setFlatten follows how much is to be taken away (table 4.176 and section 4.6.18.6.2), and
// reports whether it is anything.
func (c *channel) setFlatten(n int) (any bool) {
	for q := range n {
		before, now := c.inverse[0][q], c.inverse[1][q]
		want := [4]float32{0, 0.75, 0.9, 0.98}[now]
		if before+now == 1 {
			want = 0.6 // between none and little
		}
		v := &c.flatten[q]
		if want < *v {
			*v = 0.75*want + 0.25**v
		} else {
			*v = 0.90625*want + 0.09375**v
		}
		if *v < 0.015625 {
			*v = 0
		}
		*v = min(*v, 0.99609375)
		any = any || *v > 0
	}
	return any
}
