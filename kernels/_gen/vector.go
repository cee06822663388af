package main

func vector(a *asm) {
	a.both(a.add)
	a.both(a.scale)
	a.both(a.axpy)
	a.both(a.dot)
	a.both(a.addSquares)
	a.both(a.raise)
}

func (a *asm) addSquares() {
	a.fn("addSquares"+a.name, "dst *float32, x *float32, y *float32, n int", "")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, DX", a.arg("y"))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.each("CX", []string{"DI", "SI", "DX"}, 2, func(v int) {
		for i := range v {
			x, y := a.reg(2*i), a.reg(2*i+1)
			a.load("SI", i*a.bytes, x)
			a.load("DX", i*a.bytes, y)
			a.p("VMULPS %s, %s, %s", x, x, x)
			a.p("VFMADD231PS %s, %s, %s", y, y, x)
			a.store(x, "DI", i*a.bytes)
		}
	})
	a.ret()
}

func (a *asm) raise() {
	a.fn("raise"+a.name, "x *float32, n int, least float32, scale float32, shift float32", "")
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	least, scale, shift := a.reg(8), a.reg(9), a.reg(10)
	a.p("VBROADCASTSS %s, %s", a.arg("least"), least)
	a.p("VBROADCASTSS %s, %s", a.arg("scale"), scale)
	a.p("VBROADCASTSS %s, %s", a.arg("shift"), shift)
	a.each("CX", []string{"SI"}, 2, func(v int) {
		for i := range v {
			x := a.reg(i)
			a.load("SI", i*a.bytes, x)
			a.p("VMAXPS %s, %s, %s", x, least, x) // the second operand, x, wins if it's NaN
			a.p("VFMADD213PS %s, %s, %s", shift, scale, x)
			a.store(x, "SI", i*a.bytes)
		}
	})
	a.ret()
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
