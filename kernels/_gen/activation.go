package main

import "math"

var (
	absMask  = bits("absMask", 0x7fffffff)
	signMask = bits("signMask", 0x80000000)

	minusHalfLog2e = float("minusHalfLog2e", -0.5*math.Log2E)

	half = float("half", 0.5)
	// geluFar is where the tail of erf is long zero; it keeps infinities out of the products.
	geluFar = float("geluFar", 30)

	// erf by formula 7.1.26 of Abramowitz and Stegun, error below 1.5e-7: 1 - poly(t)*t*exp(-z*z), t = 1/(1+p*z), here
	// with z = |x|/sqrt 2.
	erfP    = float("erfP", 0.3275911/math.Sqrt2)
	erfPoly = []constant{
		float("erf5", 1.061405429),
		float("erf4", -1.453152027),
		float("erf3", 1.421413741),
		float("erf2", -0.284496736),
		float("erf1", 0.254829592),
	}
)

func activation(a *asm) {
	a.both(func() { a.inPlace("gelu", a.gelu) })
	a.both(func() { a.inPlace("silu", a.silu) })
	a.both(func() {
		a.inPlace("relu", func(x string) {
			a.zero(a.reg(1))
			a.p("VMAXPS %s, %s, %s", x, a.reg(1), x) // the second operand, x, wins if it's NaN
		})
	})
}

// inPlace writes a kernel that replaces each element; f has the vector in x and every other register to itself but
// tailY.
func (a *asm) inPlace(name string, f func(x string)) {
	a.fn(name+a.name, "x *float32, n int", "")
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	x := a.reg(0)
	a.each("CX", []string{"SI"}, 1, func(int) {
		a.load("SI", 0, x)
		f(x)
		a.store(x, "SI", 0)
	})
	a.ret()
}

// gelu is max(x,0) - |x|/2 * erfc(|x|/sqrt 2), which loses nothing for large x.
func (a *asm) gelu(x string) {
	abs, t, e, q := a.reg(1), a.reg(2), a.reg(3), a.reg(4)
	a.op3("VANDPS", absMask, x, abs)
	a.op3("VMINPS", geluFar, abs, abs)
	a.fill(one, q)
	a.op3("VFMADD231PS", erfP, abs, q)
	a.inverse(q, t, a.reg(5))
	a.op3("VMULPS", minusHalfLog2e, abs, e)
	a.p("VMULPS %s, %s, %s", abs, e, e)
	a.exp2(exp2Long, exp2Floor, e, a.reg(5), a.reg(6))
	a.poly(erfPoly, t, q)
	a.p("VMULPS %s, %s, %s", t, q, q)
	a.p("VMULPS %s, %s, %s", e, q, q)
	a.op3("VMULPS", half, abs, abs)
	a.zero(t)
	a.p("VMAXPS %s, %s, %s", x, t, x) // the second operand, x, wins if it's NaN
	a.p("VFNMADD231PS %s, %s, %s", abs, q, x)
}

// inverse leaves 1/x in y, for x within reason. On AVX-512, where a division takes as long as 16 other instructions, it
// is an estimate of 14 bits and one step of Newton's, y + y*(1 - x*y), good to the last bit or two. x and u are lost.
func (a *asm) inverse(x, y, u string) {
	a.fill(one, u)
	if !a.wide() {
		a.p("VDIVPS %s, %s, %s", x, u, y)
		return
	}
	a.p("VRCP14PS %s, %s", x, y)
	a.p("VFNMADD213PS %s, %s, %s", u, y, x)
	a.p("VFMADD231PS %s, %s, %s", y, x, y)
}

// silu is x * (1 or e, by the sign of x) / (1 + e) with e = exp(-|x|), which can't overflow.
func (a *asm) silu(x string) {
	e, n, d := a.reg(1), a.reg(2), a.reg(3)
	a.op3("VORPS", signMask, x, e)
	a.exp(e, a.reg(5), a.reg(6), a.expMask("Y7"))
	a.fill(one, d)
	if a.wide() {
		a.p("VPMOVD2M %s, K2", x)
		a.p("VMOVAPS %s, %s", d, n)
		a.p("VMOVAPS %s, K2, %s", e, n)
	} else {
		a.p("VBLENDVPS %s, %s, %s, %s", x, e, d, n)
	}
	a.p("VADDPS %s, %s, %s", e, d, d)
	a.p("VMULPS %s, %s, %s", n, x, x)
	a.p("VDIVPS %s, %s, %s", d, x, x)
}
