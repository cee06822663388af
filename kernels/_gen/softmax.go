package main

var minusInf = bits("minusInf", 0xff800000)

func softmax(a *asm) {
	a.both(func() {
		a.fn("expSum"+a.name, "x *float32, n int, shift float32, scale float32", "sum float32")
		a.p("VBROADCASTSS %s, %s", a.arg("scale"), a.reg(9))
		a.expLoop(func(x string) { a.p("VMULPS %s, %s, %s", a.reg(9), x, x) }, func(x string, i int) { a.store(x, "SI", i*a.bytes) })
	})
	a.both(func() {
		a.fn("sumExp"+a.name, "x *float32, n int, shift float32", "sum float32")
		a.expLoop(func(string) {}, func(string, int) {})
	})
	a.both(a.max)
	a.both(a.exp2SumShort)
}

// exp2SumShort keeps the constants in registers, as far as AVX2 has them.
func (a *asm) exp2SumShort() {
	const sums = 2
	a.fn("exp2SumShort"+a.name, "x *float32, n int, shift float32, scale float32", "sum float32")
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	shift, scale := a.reg(8), a.reg(9)
	a.p("VBROADCASTSS %s, %s", a.arg("shift"), shift)
	a.p("VBROADCASTSS %s, %s", a.arg("scale"), scale)
	for i := range sums {
		a.zero(a.reg(i))
	}
	a.each("CX", []string{"SI"}, sums, func(v int) {
		for i := range v {
			x := a.reg(2 + 3*i)
			a.load("SI", i*a.bytes, x)
			a.p("VFMADD213PS %s, %s, %s", shift, scale, x)
			a.exp2(exp2Short, exp2Least, x, a.reg(3+3*i), a.reg(4+3*i))
			a.store(x, "SI", i*a.bytes)
			a.clip(x)
			a.p("VADDPS %s, %s, %s", x, a.reg(i), a.reg(i))
		}
	})
	a.reduce("ADD", 0, sums, sums)
	a.p("VMOVSS X0, %s", a.arg("sum"))
	a.ret()
}

// expLoop sums exp of the elements less shift, with what before does to the difference and after to the result.
func (a *asm) expLoop(before func(x string), after func(x string, i int)) {
	const sums = 2
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	shift, x := a.reg(8), a.reg(2)
	a.p("VBROADCASTSS %s, %s", a.arg("shift"), shift)
	for i := range sums {
		a.zero(a.reg(i))
	}
	a.each("CX", []string{"SI"}, sums, func(v int) {
		for i := range v {
			a.load("SI", i*a.bytes, x)
			a.p("VSUBPS %s, %s, %s", shift, x, x)
			before(x)
			a.exp(x, a.reg(3), a.reg(4), a.expMask("Y5"))
			after(x, i)
			a.clip(x)
			a.p("VADDPS %s, %s, %s", x, a.reg(i), a.reg(i))
		}
	})
	a.reduce("ADD", 0, sums, sums)
	a.p("VMOVSS X0, %s", a.arg("sum"))
	a.ret()
}

// max skips NaN: VMAXPS returns its second operand, the greatest so far, when either is one.
func (a *asm) max() {
	const sums = 4
	a.fn("max"+a.name, "x *float32, n int", "m float32")
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	for i := range sums {
		a.fill(minusInf, a.reg(i))
	}
	a.each("CX", []string{"SI"}, sums, func(v int) {
		for i := range v {
			x, m := a.reg(sums+i), a.reg(i)
			a.load("SI", i*a.bytes, x)
			switch {
			case !a.tail:
				a.p("VMAXPS %s, %s, %s", m, x, m)
			case a.wide():
				a.p("VMAXPS %s, %s, %s, %s", m, x, tailK, m)
			default:
				a.p("VMAXPS %s, %s, %s", m, x, x)
				a.p("VBLENDVPS %s, %s, %s, %s", tailY, x, m, m)
			}
		}
	})
	a.reduce("MAX", 0, sums, sums)
	a.p("VMOVSS X0, %s", a.arg("m"))
	a.ret()
}
