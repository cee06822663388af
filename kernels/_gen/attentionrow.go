package main

func attentionRow(a *asm) {
	a.both(a.dotRows)
	a.both(a.addRows)
}

// dotRows takes strides in bytes.
func (a *asm) dotRows() {
	a.fn("dotRows"+a.name, "dst *float32, q *float32, x *float32, ldx int, rows int, n int", "")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, R9", a.arg("q"))
	a.p("MOVQ %s, R8", a.arg("x"))
	a.p("MOVQ %s, R10", a.arg("ldx"))
	a.p("MOVQ %s, R11", a.arg("rows"))
	a.p("MOVQ %s, R12", a.arg("n"))
	a.p("rows:")
	a.p("MOVQ R9, SI")
	a.p("MOVQ R8, DX")
	a.p("MOVQ R12, CX")
	a.dotLoop()
	a.p("VMOVSS X0, (DI)")
	a.p("ADDQ $4, DI")
	a.p("ADDQ R10, R8")
	a.p("DECQ R11")
	a.p("JNZ rows")
	a.ret()
}

// addRows keeps up to four vectors of the result in registers while it walks the rows.
func (a *asm) addRows() {
	a.fn("addRows"+a.name, "dst *float32, p *float32, x *float32, ldx int, rows int, n int", "")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, R9", a.arg("p"))
	a.p("MOVQ %s, R8", a.arg("x"))
	a.p("MOVQ %s, R10", a.arg("ldx"))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.each("CX", []string{"DI", "R8"}, 4, func(v int) {
		rows := a.label("rows")
		for i := range v {
			a.load("DI", i*a.bytes, a.reg(i))
		}
		a.p("MOVQ R9, SI")
		a.p("MOVQ R8, DX")
		a.p("MOVQ %s, R11", a.arg("rows"))
		a.p("%s:", rows)
		a.p("VBROADCASTSS (SI), %s", a.reg(8))
		for i := range v {
			a.load("DX", i*a.bytes, a.reg(4+i))
			a.p("VFMADD231PS %s, %s, %s", a.reg(8), a.reg(4+i), a.reg(i))
		}
		a.p("ADDQ $4, SI")
		a.p("ADDQ R10, DX")
		a.p("DECQ R11")
		a.p("JNZ %s", rows)
		for i := range v {
			a.store(a.reg(i), "DI", i*a.bytes)
		}
	})
	a.ret()
}
