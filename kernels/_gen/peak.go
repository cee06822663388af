package main

// peak writes a loop of independent multiply-adds and nothing else: what benchmarks measure the tiles against.
func peak(a *asm) {
	a.both(func() {
		const sums = 12
		a.fn("peak"+a.name, "n int", "")
		a.p("MOVQ %s, CX", a.arg("n"))
		for i := range sums + 2 {
			a.zero(a.reg(i))
		}
		loop := a.label("loop")
		a.p("PCALIGN $32")
		a.p("%s:", loop)
		for i := range sums {
			a.p("VFMADD231PS %s, %s, %s", a.reg(sums), a.reg(sums+1), a.reg(i))
		}
		a.p("DECQ CX")
		a.p("JNZ %s", loop)
		a.ret()
	})
}
