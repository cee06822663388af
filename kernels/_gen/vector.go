package main

func vector(a *asm) {
	a.both(a.add)
	a.both(a.scale)
	a.both(a.axpy)
	a.both(a.dot)
}

func (a *asm) add() {
	a.fn("add"+a.name, "dst *float32, x *float32, y *float32, n int", "")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, DX", a.arg("y"))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.each("CX", []string{"DI", "SI", "DX"}, 4, func(v int) {
		for i := range v {
			a.load("SI", i*a.bytes, a.reg(2*i))
			a.load("DX", i*a.bytes, a.reg(2*i+1))
			a.p("VADDPS %s, %s, %s", a.reg(2*i+1), a.reg(2*i), a.reg(2*i))
			a.store(a.reg(2*i), "DI", i*a.bytes)
		}
	})
	a.ret()
}

func (a *asm) scale() {
	a.fn("scale"+a.name, "x *float32, n int, s float32", "")
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	s := a.reg(8)
	a.p("VBROADCASTSS %s, %s", a.arg("s"), s)
	a.each("CX", []string{"SI"}, 4, func(v int) {
		for i := range v {
			a.load("SI", i*a.bytes, a.reg(i))
			a.p("VMULPS %s, %s, %s", s, a.reg(i), a.reg(i))
			a.store(a.reg(i), "SI", i*a.bytes)
		}
	})
	a.ret()
}

func (a *asm) axpy() {
	a.fn("axpy"+a.name, "dst *float32, x *float32, n int, s float32", "")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	s := a.reg(8)
	a.p("VBROADCASTSS %s, %s", a.arg("s"), s)
	a.each("CX", []string{"DI", "SI"}, 4, func(v int) {
		for i := range v {
			a.load("SI", i*a.bytes, a.reg(2*i))
			a.load("DI", i*a.bytes, a.reg(2*i+1))
			a.p("VFMADD231PS %s, %s, %s", s, a.reg(2*i), a.reg(2*i+1))
			a.store(a.reg(2*i+1), "DI", i*a.bytes)
		}
	})
	a.ret()
}

func (a *asm) dot() {
	a.fn("dot"+a.name, "x *float32, y *float32, n int", "sum float32")
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, DX", a.arg("y"))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.dotLoop()
	a.p("VMOVSS X0, %s", a.arg("sum"))
	a.ret()
}

// dotLoop leaves the product of the CX elements at SI and DX in X0, and both pointers behind the last whole vector.
func (a *asm) dotLoop() {
	const sums = 4
	for i := range sums {
		a.zero(a.reg(i))
	}
	a.each("CX", []string{"SI", "DX"}, sums, func(v int) {
		for i := range v {
			a.load("SI", i*a.bytes, a.reg(sums+i))
			a.load("DX", i*a.bytes, a.reg(2*sums+i))
			a.p("VFMADD231PS %s, %s, %s", a.reg(2*sums+i), a.reg(sums+i), a.reg(i))
		}
	})
	a.reduce("ADD", 0, sums, sums)
}
