package main

import "math"

var (
	// sqrtHalf is the bits of √½: a number less them has its exponent, rounded, on top.
	sqrtHalf = bits("sqrtHalf", math.Float32bits(math.Sqrt2/2))
	ln2      = float("ln2", math.Ln2)

	// The series of 2 atanh(s) / s in s², which ends soon enough for |s| < 0.172.
	atanhPoly = []constant{float("atanh9", 2.0/9), float("atanh7", 2.0/7), float("atanh5", 2.0/5), float("atanh3", 2.0/3), float("atanh1", 2)}
)

func log(a *asm) {
	a.both(func() { a.inPlace("log", a.log) })
}

// log takes x apart into m * 2^e with m around 1, and log m = 2 atanh((m-1) / (m+1)).
func (a *asm) log(x string) {
	e, m, s, z, p := a.reg(1), a.reg(2), a.reg(3), a.reg(4), a.reg(5)
	a.op3("VPSUBD", sqrtHalf, x, e)
	a.p("VPSRAD $23, %s, %s", e, e)
	a.p("VPSLLD $23, %s, %s", e, m)
	a.p("VPSUBD %s, %s, %s", m, x, m)
	a.p("VCVTDQ2PS %s, %s", e, e)
	a.fill(one, z)
	a.p("VSUBPS %s, %s, %s", z, m, s)
	a.p("VADDPS %s, %s, %s", z, m, m)
	a.p("VDIVPS %s, %s, %s", m, s, s)
	a.p("VMULPS %s, %s, %s", s, s, z)
	a.poly(atanhPoly, z, p)
	a.p("VSUBPS %s, %s, %s", x, x, x) // NaN if x is none or infinite
	a.p("VFMADD231PS %s, %s, %s", p, s, x)
	a.op3("VFMADD231PS", ln2, e, x)
}
