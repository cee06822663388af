package main

func lstmCell(a *asm) {
	a.both(func() {
		a.fn("lstmCell"+a.name, "h *float32, c *float32, gates *float32, ld int, count int", "")
		a.p("MOVQ %s, DI", a.arg("h"))
		a.p("MOVQ %s, SI", a.arg("c"))
		a.p("MOVQ %s, R8", a.arg("gates"))
		a.p("MOVQ %s, AX", a.arg("ld"))
		a.p("LEAQ (R8)(AX*1), R9")
		a.p("LEAQ (R9)(AX*1), R10")
		a.p("LEAQ (R10)(AX*1), R11")
		a.p("MOVQ %s, CX", a.arg("count"))
		c, in, forget, cell, out := a.reg(0), a.reg(1), a.reg(2), a.reg(3), a.reg(4)
		a.each("CX", []string{"DI", "SI", "R8", "R9", "R10", "R11"}, 1, func(int) {
			a.load("SI", 0, c)
			a.load("R8", 0, in)
			a.load("R9", 0, forget)
			a.load("R10", 0, cell)
			a.load("R11", 0, out)
			a.sigmoid(in)
			a.sigmoid(forget)
			a.tanh(cell)
			a.sigmoid(out)
			a.p("VMULPS %s, %s, %s", forget, c, c)
			a.p("VFMADD231PS %s, %s, %s", cell, in, c)
			a.store(c, "SI", 0)
			a.tanh(c)
			a.p("VMULPS %s, %s, %s", out, c, c)
			a.store(c, "DI", 0)
		})
		a.ret()
	})
}
