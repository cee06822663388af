package main

import "math"

// The functions below work as their namesakes for amd64, by the same constants. Constants are kept in registers that
// the kernel's prologue fills; register 31 is the one they may use for what they need once.

// polynomial leaves (…(c[0]*x + c[1])*x + …) + c[last] in u. t is lost.
func (n *neon) poly(c []constant, x, u, t int) {
	n.bits(u, c[0].words[0])
	for _, k := range c[1:] {
		n.bits(t, k.words[0])
		n.op3("FMLA", t, u, x)
		u, t = t, u
	}
	if len(c)%2 == 0 { // the result is in what was t
		n.move(t, u)
	}
}

// exp replaces x by exp(x) for x up to 88: zero below expCut, NaN for NaN. Registers 26 to 31 are lost.
func (n *neon) exp(x int) {
	const t, u, v, cut, c = 26, 27, 28, 29, 31
	n.bits(cut, expCut.words[0])
	n.op3("FCMGT", cut, cut, x)
	n.bits(c, log2e.words[0])
	n.op3("FMUL", t, x, c)
	n.op2("FRINTN", t, t)
	n.bits(c, ln2Hi.words[0])
	n.op3("FMLS", x, t, c)
	n.bits(c, ln2Lo.words[0])
	n.op3("FMLS", x, t, c)
	n.poly(expPoly, x, u, v)
	n.op2("FCVTNS", t, t)
	n.shl(t, t, 23)
	n.op3("ADD", x, u, t)
	n.op3("BIC", x, x, cut)
}

// exp2 replaces y by 2^y for y up to 127, and for y below least by what there is for that. NaN stays. Registers 26 to
// 31 are lost.
func (n *neon) exp2(polynomial []constant, least constant, y int) {
	const t, u, v, c = 26, 27, 28, 31
	n.bits(c, least.words[0])
	n.op3("FMAX", y, y, c)
	n.bits(c, exp2Magic.words[0])
	n.op3("FADD", t, y, c)
	n.op3("FSUB", u, t, c)
	n.op3("FSUB", y, y, u)
	n.poly(polynomial, y, u, v)
	n.shl(t, t, 23)
	n.op3("ADD", y, t, u)
}

// sigmoid replaces x by (1 or e, by the sign of x) / (1 + e) with e = exp(-|x|). Registers 23 to 31 are lost.
func (n *neon) sigmoid(x int) {
	const e, side, num = 23, 24, 25
	n.op2("FABS", e, x)
	n.bits(num, signMask.words[0])
	n.op3("ORR", e, e, num)
	n.sar(side, x, 31)
	n.exp(e)
	n.fill(num, 1)
	n.op3("BSL", side, e, num)
	n.op3("FADD", e, e, num)
	n.op3("FDIV", x, side, e)
}

// tanh replaces x by (1 - e) / (1 + e) with e = exp(-2|x|) and the sign of x. Registers 23 to 31 are lost.
func (n *neon) tanh(x int) {
	const e, num, c = 23, 24, 25
	n.op2("FABS", e, x)
	n.bits(c, minusTwo.words[0])
	n.op3("FMUL", e, e, c)
	n.exp(e)
	n.fill(c, 1)
	n.op3("FSUB", num, c, e)
	n.op3("FADD", e, e, c)
	n.op3("FDIV", num, num, e)
	n.bits(c, signMask.words[0])
	n.op3("AND", x, x, c)
	n.op3("ORR", x, x, num)
}

// inPlace is a kernel that replaces each element; f has the vector in register 0.
func (n *neon) inPlace(name string, f func(x int)) {
	n.fn(name+"NEON", "x *float32, n int", "")
	n.args("x", "R0", "n", "R1")
	n.each("R1", []string{"R0"}, 1, func(int) {
		n.load("R0", 0, 0)
		f(0)
		n.store(0, "R0", 0)
	})
	n.ret()
}

func neonActivation(n *neon) {
	n.inPlace("gelu", n.gelu)
	n.inPlace("silu", func(x int) {
		n.move(1, x)
		n.sigmoid(1)
		n.op3("FMUL", x, x, 1)
	})
	n.inPlace("relu", func(x int) {
		n.zero(1)
		n.op3("FMAX", x, x, 1) // NaN stays
	})
}

// gelu is max(x,0) - |x|/2 * erfc(|x|/sqrt 2), which loses nothing for large x.
func (n *neon) gelu(x int) {
	const abs, t, e, q, c = 1, 2, 3, 4, 5
	n.op2("FABS", abs, x)
	n.bits(c, geluFar.words[0])
	n.op3("FMIN", abs, abs, c)
	n.fill(t, 1)
	n.move(q, t)
	n.bits(c, erfP.words[0])
	n.op3("FMLA", q, abs, c)
	n.op3("FDIV", t, t, q)
	n.bits(c, minusHalfLog2e.words[0])
	n.op3("FMUL", e, abs, c)
	n.op3("FMUL", e, e, abs)
	n.exp2(exp2Long, exp2Floor, e)
	n.poly(erfPoly, t, q, c)
	n.op3("FMUL", q, q, t)
	n.op3("FMUL", q, q, e)
	n.fill(c, 0.5)
	n.op3("FMUL", abs, abs, c)
	n.zero(t)
	n.op3("FMAX", x, x, t)
	n.op3("FMLS", x, abs, q)
}

func neonGate(n *neon) {
	n.pairwise("gate", 1, func(x, gate int) {
		n.sigmoid(gate)
		n.op3("FMUL", x, x, gate)
	})
}

func neonLSTMCell(n *neon) {
	n.fn("lstmCellNEON", "h *float32, c *float32, gates *float32, ld int, count int", "")
	n.args("h", "R0", "c", "R2", "gates", "R3", "ld", "R7", "count", "R1")
	n.p("ADD R7, R3, R4")
	n.p("ADD R7, R4, R5")
	n.p("ADD R7, R5, R6")
	const c, in, forget, cell, out = 0, 1, 2, 3, 4
	n.each("R1", []string{"R0", "R2", "R3", "R4", "R5", "R6"}, 1, func(int) {
		n.load("R2", 0, c)
		n.load("R3", 0, in)
		n.load("R4", 0, forget)
		n.load("R5", 0, cell)
		n.load("R6", 0, out)
		n.sigmoid(in)
		n.sigmoid(forget)
		n.tanh(cell)
		n.sigmoid(out)
		n.op3("FMUL", c, c, forget)
		n.op3("FMLA", c, in, cell)
		n.store(c, "R2", 0)
		n.tanh(c)
		n.op3("FMUL", c, c, out)
		n.store(c, "R0", 0)
	})
	n.ret()
}

// neonLog takes x apart into m * 2^e with m around 1, and log m = 2 atanh((m-1) / (m+1)).
func neonLog(n *neon) {
	n.inPlace("log", func(x int) {
		const e, m, s, z, p, t = 1, 2, 3, 4, 5, 6
		n.bits(t, sqrtHalf.words[0])
		n.op3("SUB", e, x, t)
		n.sar(e, e, 23)
		n.shl(m, e, 23)
		n.op3("SUB", m, x, m)
		n.op2("SCVTF", e, e)
		n.fill(z, 1)
		n.op3("FSUB", s, m, z)
		n.op3("FADD", m, m, z)
		n.op3("FDIV", s, s, m)
		n.op3("FMUL", z, s, s)
		n.poly(atanhPoly, z, p, t)
		n.op3("FSUB", x, x, x) // NaN if x is none or infinite
		n.op3("FMLA", x, s, p)
		n.fill(t, math.Ln2)
		n.op3("FMLA", x, e, t)
	})
}

func neonSoftmax(n *neon) {
	n.fn("expSumNEON", "x *float32, n int, shift float32, scale float32", "sum float32")
	n.param("scale", 17)
	n.expLoop(func(x int) {
		n.op3("FSUB", x, x, 16)
		n.op3("FMUL", x, x, 17)
		n.exp(x)
	}, true)
	n.fn("sumExpNEON", "x *float32, n int, shift float32", "sum float32")
	n.expLoop(func(x int) {
		n.op3("FSUB", x, x, 16)
		n.exp(x)
	}, false)
	n.fn("exp2SumShortNEON", "x *float32, n int, shift float32, scale float32", "sum float32")
	n.param("scale", 17)
	n.expLoop(func(x int) {
		n.move(18, 16)
		n.op3("FMLA", 18, x, 17)
		n.move(x, 18)
		n.exp2(exp2Short, exp2Least, x)
	}, true)

	n.fn("maxNEON", "x *float32, n int", "m float32")
	n.args("x", "R0", "n", "R1")
	for i := range 4 {
		n.bits(i, minusInf.words[0])
	}
	n.each("R1", []string{"R0"}, 4, func(v int) {
		for i := range v {
			n.load("R0", 16*i, 4+i)
			n.op3("FMAXNM", i, i, 4+i) // skips NaN
		}
	})
	n.op3("FMAXNM", 0, 0, 1)
	n.op3("FMAXNM", 2, 2, 3)
	n.op3("FMAXNM", 0, 0, 2)
	n.op2("FMAXNMV", 0, 0)
	n.p("FMOVS F0, %s", n.arg("m"))
	n.ret()
}

// expLoop sums what f makes of the elements, with the argument shift in register 16, and writes it back if keep is set.
func (n *neon) expLoop(f func(x int), keep bool) {
	n.args("x", "R0", "n", "R1")
	n.param("shift", 16)
	for i := range 4 {
		n.zero(i)
	}
	n.each("R1", []string{"R0"}, 2, func(v int) {
		for i := range v {
			n.load("R0", 16*i, 4)
			f(4)
			if keep {
				n.store(4, "R0", 16*i)
			}
			n.op3("FADD", i, i, 4)
		}
	})
	n.sum(0)
	n.p("FMOVS F0, %s", n.arg("sum"))
	n.ret()
}

// neonLayerNorm walks the row three times while it's in the first-level cache: sum, squares about the mean, result.
func neonLayerNorm(n *neon) {
	const mean, inv, count = 16, 17, 18
	n.fn("normRowNEON", "dst *float32, x *float32, gamma *float32, beta *float32, n int, eps float32", "")
	pass := func(f func(sum, x int)) {
		n.args("x", "R0", "n", "R1")
		for i := range 4 {
			n.zero(i)
		}
		n.each("R1", []string{"R0"}, 4, func(v int) {
			for i := range v {
				n.load("R0", 16*i, 4+i)
				f(i, 4+i)
			}
		})
		n.sum(0)
		n.p("FDIVS F%d, F0, F0", count)
	}
	n.args("n", "R1")
	n.p("SCVTFS R1, F%d", count)
	pass(func(sum, x int) { n.op3("FADD", sum, sum, x) })
	n.dup(mean, 0)
	pass(func(sum, x int) {
		n.op3("FSUB", x, x, mean)
		n.op3("FMLA", sum, x, x)
	})
	n.p("FMOVS %s, F1", n.arg("eps"))
	n.p("FADDS F1, F0, F0")
	n.p("FSQRTS F0, F0")
	n.p("FMOVS $1.0, F1")
	n.p("FDIVS F0, F1, F0")
	n.dup(inv, 0)
	n.args("x", "R0", "dst", "R2", "gamma", "R3", "beta", "R4", "n", "R1")
	n.each("R1", []string{"R0", "R2", "R3", "R4"}, 2, func(v int) {
		for i := range v {
			x, g, b := 3*i, 3*i+1, 3*i+2
			n.load("R0", 16*i, x)
			n.load("R3", 16*i, g)
			n.load("R4", 16*i, b)
			n.op3("FSUB", x, x, mean)
			n.op3("FMUL", x, x, inv)
			n.op3("FMLA", b, x, g)
			n.store(b, "R2", 16*i)
		}
	})
	n.ret()
}
