package main

// The constants of exp: the reduction of Cody and Waite, x = n ln 2 + r with ln 2 in two parts, and the polynomial for
// exp(r) on [-ln2/2, ln2/2] of the Cephes library's expf (S. Moshier, netlib.org/cephes, file single/expf.c).
var (
	expCut = float("expCut", -87) // expCut of softmax_generic.go
	log2e  = float("log2e", 1.4426950408889634)
	ln2Hi  = float("ln2Hi", 0.693359375)
	ln2Lo  = float("ln2Lo", -2.12194440e-4)
	one    = float("one", 1)

	expPoly = []constant{
		float("exp7", 1.9875691500e-4),
		float("exp6", 1.3981999507e-3),
		float("exp5", 8.3334519073e-3),
		float("exp4", 4.1665795894e-2),
		float("exp3", 1.6666665459e-1),
		float("exp2", 5.0000001201e-1),
		one, one,
	}
)

// exp replaces x by exp(x) for x up to 88: zero below expCut (-Inf too), NaN for NaN. t and u are lost, and m: a vector
// register in AVX2, a mask register in AVX-512.
func (a *asm) exp(x, t, u, m string) {
	const notLess, nearest = 5, 8
	a.p("%s $%d, %s, %s, %s", a.op("VCMPPS"), notLess, a.operand(expCut), x, m)
	a.op3("VMULPS", log2e, x, t)
	if a.wide() {
		a.p("VRNDSCALEPS $%d, %s, %s", nearest, t, t)
	} else {
		a.p("VROUNDPS $%d, %s, %s", nearest, t, t)
	}
	a.op3("VFNMADD231PS", ln2Hi, t, x)
	a.op3("VFNMADD231PS", ln2Lo, t, x)
	a.poly(expPoly, x, u)
	if a.wide() {
		a.p("VSCALEFPS.Z %s, %s, %s, %s", t, u, m, x)
		return
	}
	a.p("VCVTPS2DQ %s, %s", t, t)
	a.p("VPSLLD $23, %s, %s", t, t)
	a.p("VPADDD %s, %s, %s", t, u, x)
	a.p("VANDPS %s, %s, %s", m, x, x)
}

// poly leaves (…(c[0]*x + c[1])*x + …) + c[last] in u.
func (a *asm) poly(c []constant, x, u string) {
	a.fill(c[0], u)
	for _, k := range c[1:] {
		a.op3("VFMADD213PS", k, x, u)
	}
}

// expMask is the register that exp may use for its comparison.
func (a *asm) expMask(avx2 string) string {
	if a.wide() {
		return "K2"
	}
	return avx2
}

// The constants of exp2: 2^r on [-1/2, 1/2] by polynomials of least relative error, fitted by reweighted least squares.
var (
	exp2Floor = float("exp2Floor", -127)  // where exp2Long is exactly zero
	exp2Least = float("exp2Least", -120)  // where exp2Short is next to nothing, but not denormal
	exp2Magic = float("exp2Magic", 3<<22) // adding it rounds to an integer, in the low bits

	// exp2Short is within 2.6e-6, exp2Long within 9.2e-8.
	exp2Short = []constant{
		float("exp2s4", 0.00957009),
		float("exp2s3", 0.05591786),
		float("exp2s2", 0.24024745),
		float("exp2s1", 0.69312181),
		float("exp2s0", 0.99999926),
	}
	exp2Long = []constant{
		float("exp2l5", 0.001326472691),
		float("exp2l4", 0.00967151266),
		float("exp2l3", 0.05550733744),
		float("exp2l2", 0.2402224208),
		float("exp2l1", 0.6931469776),
		one,
	}
)

// exp2 replaces y by 2^y for y up to 127, as the polynomial does, and for y below least by what there is for that. It
// gives NaN for NaN. t and u are lost. It is two thirds of exp's work and less.
func (a *asm) exp2(polynomial []constant, least constant, y, t, u string) {
	a.fill(least, u)
	a.p("VMAXPS %s, %s, %s", y, u, y) // the second operand, y, wins if it's NaN
	a.op3("VADDPS", exp2Magic, y, t)
	a.op3("VSUBPS", exp2Magic, t, u)
	a.p("VSUBPS %s, %s, %s", u, y, y)
	a.poly(polynomial, y, u)
	a.p("VPSLLD $23, %s, %s", t, t)
	a.p("VPADDD %s, %s, %s", t, u, y)
}
