package main

var minusTwo = float("minusTwo", -2)

func gate(a *asm) {
	a.both(func() {
		a.fn("gate"+a.name, "dst *float32, x *float32, gate *float32, n int", "")
		a.p("MOVQ %s, DI", a.arg("dst"))
		a.p("MOVQ %s, SI", a.arg("x"))
		a.p("MOVQ %s, DX", a.arg("gate"))
		a.p("MOVQ %s, CX", a.arg("n"))
		x, s := a.reg(0), a.reg(1)
		a.each("CX", []string{"DI", "SI", "DX"}, 1, func(int) {
			a.load("DX", 0, s)
			a.load("SI", 0, x)
			a.sigmoid(s)
			a.p("VMULPS %s, %s, %s", s, x, x)
			a.store(x, "DI", 0)
		})
		a.ret()
	})
}

// sigmoid replaces x by (1 or e, by the sign of x) / (1 + e) with e = exp(-|x|), which can't overflow. Registers 8 to
// 12 are lost.
func (a *asm) sigmoid(x string) {
	e, n, d := a.reg(8), a.reg(9), a.reg(10)
	a.op3("VORPS", signMask, x, e)
	a.exp(e, a.reg(11), a.reg(12), a.expMask("Y9"))
	a.fill(one, d)
	if a.wide() {
		a.p("VPMOVD2M %s, K2", x)
		a.p("VMOVAPS %s, %s", d, n)
		a.p("VMOVAPS %s, K2, %s", e, n)
	} else {
		a.p("VBLENDVPS %s, %s, %s, %s", x, e, d, n)
	}
	a.p("VADDPS %s, %s, %s", e, d, d)
	a.p("VDIVPS %s, %s, %s", d, n, x)
}

// tanh replaces x by (1 - e) / (1 + e) with e = exp(-2|x|) and the sign of x. Registers 8 to 12 are lost.
func (a *asm) tanh(x string) {
	e, n, d := a.reg(8), a.reg(9), a.reg(10)
	a.op3("VANDPS", absMask, x, e)
	a.op3("VMULPS", minusTwo, e, e)
	a.exp(e, a.reg(11), a.reg(12), a.expMask("Y9"))
	a.fill(one, d)
	a.p("VSUBPS %s, %s, %s", e, d, n)
	a.p("VADDPS %s, %s, %s", e, d, d)
	a.p("VDIVPS %s, %s, %s", d, n, n)
	a.op3("VANDPS", signMask, x, x)
	a.p("VORPS %s, %s, %s", n, x, x)
}
