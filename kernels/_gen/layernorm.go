package main

func layerNorm(a *asm) { a.both(a.normRow) }

// normRow walks the row three times while it's in the first-level cache: sum, squares about the mean, result.
func (a *asm) normRow() {
	const sums = 4
	mean, inv := a.reg(12), a.reg(13)
	a.fn("normRow"+a.name, "dst *float32, x *float32, gamma *float32, beta *float32, n int, eps float32", "")
	start := func() {
		a.p("MOVQ %s, SI", a.arg("x"))
		a.p("MOVQ %s, CX", a.arg("n"))
		for i := range sums {
			a.zero(a.reg(i))
		}
	}
	start()
	a.each("CX", []string{"SI"}, sums, func(v int) {
		for i := range v {
			a.load("SI", i*a.bytes, a.reg(sums+i))
			a.p("VADDPS %s, %s, %s", a.reg(sums+i), a.reg(i), a.reg(i))
		}
	})
	a.reduce("ADD", 0, sums, sums)
	a.p("VXORPS X14, X14, X14")
	a.p("VCVTSI2SSQ %s, X14, X14", a.arg("n"))
	a.p("VDIVSS X14, X0, X0")
	a.p("VBROADCASTSS X0, %s", mean)

	start()
	a.each("CX", []string{"SI"}, sums, func(v int) {
		for i := range v {
			a.load("SI", i*a.bytes, a.reg(sums+i))
			a.p("VSUBPS %s, %s, %s", mean, a.reg(sums+i), a.reg(sums+i))
			a.clip(a.reg(sums + i))
			a.p("VFMADD231PS %s, %s, %s", a.reg(sums+i), a.reg(sums+i), a.reg(i))
		}
	})
	a.reduce("ADD", 0, sums, sums)
	a.p("VDIVSS X14, X0, X0")
	a.p("VADDSS %s, X0, X0", a.arg("eps"))
	a.p("VSQRTSS X0, X0, X0")
	a.p("VMOVSS %s, X1", a.operand(one))
	a.p("VDIVSS X0, X1, X0")
	a.p("VBROADCASTSS X0, %s", inv)

	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, BX", a.arg("gamma"))
	a.p("MOVQ %s, DX", a.arg("beta"))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.each("CX", []string{"SI", "DI", "BX", "DX"}, 2, func(v int) {
		for i := range v {
			x, g, b := a.reg(3*i), a.reg(3*i+1), a.reg(3*i+2)
			a.load("SI", i*a.bytes, x)
			a.load("BX", i*a.bytes, g)
			a.load("DX", i*a.bytes, b)
			a.p("VSUBPS %s, %s, %s", mean, x, x)
			a.p("VMULPS %s, %s, %s", inv, x, x)
			a.p("VFMADD213PS %s, %s, %s", b, g, x)
			a.store(x, "DI", i*a.bytes)
		}
	})
	a.ret()
}
