package main

// depthwise keeps up to four vectors of channels in registers while it walks the taps.
func depthwise(a *asm) {
	a.both(func() {
		a.fn("depthwise"+a.name, "dst *float32, x *float32, ldx int, w *float32, ldw int, taps int, n int", "")
		a.p("MOVQ %s, DI", a.arg("dst"))
		a.p("MOVQ %s, R8", a.arg("x"))
		a.p("MOVQ %s, R10", a.arg("ldx"))
		a.p("MOVQ %s, R9", a.arg("w"))
		a.p("MOVQ %s, R12", a.arg("ldw"))
		a.p("MOVQ %s, CX", a.arg("n"))
		a.each("CX", []string{"DI", "R8", "R9"}, 4, func(v int) {
			taps := a.label("taps")
			for i := range v {
				a.load("DI", i*a.bytes, a.reg(i))
			}
			a.p("MOVQ R8, SI")
			a.p("MOVQ R9, DX")
			a.p("MOVQ %s, R11", a.arg("taps"))
			a.p("%s:", taps)
			for i := range v {
				a.load("SI", i*a.bytes, a.reg(4+i))
				a.load("DX", i*a.bytes, a.reg(8+i))
				a.p("VFMADD231PS %s, %s, %s", a.reg(8+i), a.reg(4+i), a.reg(i))
			}
			a.p("ADDQ R10, SI")
			a.p("ADDQ R12, DX")
			a.p("DECQ R11")
			a.p("JNZ %s", taps)
			for i := range v {
				a.store(a.reg(i), "DI", i*a.bytes)
			}
		})
		a.ret()
	})
}
