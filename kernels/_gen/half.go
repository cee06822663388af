package main

// halves writes the conversions of whole panel rows, 16 numbers at a time.
func halves(a *asm) {
	a.both(a.fromHalf)
	a.both(a.toHalf)
}

func (a *asm) fromHalf() {
	a.fn("fromHalf"+a.name, "dst *float32, src *uint16, rows int", "")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, SI", a.arg("src"))
	a.p("MOVQ %s, CX", a.arg("rows"))
	a.p("loop:")
	for at := 0; at < 64; at += a.bytes {
		a.p("VCVTPH2PS %d(SI), %s", at/2, a.reg(0))
		a.p("VMOVUPS %s, %d(DI)", a.reg(0), at)
	}
	a.p("ADDQ $32, SI")
	a.p("ADDQ $64, DI")
	a.p("DECQ CX")
	a.p("JNZ loop")
	a.ret()
}

// toHalf rounds, and collects in lost the bits in which what was rounded differs.
func (a *asm) toHalf() {
	a.fn("toHalf"+a.name, "dst *uint16, src *float32, rows int", "lost int32")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, SI", a.arg("src"))
	a.p("MOVQ %s, CX", a.arg("rows"))
	halfReg := map[bool]string{false: "X", true: "Y"}[a.wide()]
	lost := a.reg(3)
	a.zero(lost)
	a.p("loop:")
	for at := 0; at < 64; at += a.bytes {
		a.p("VMOVUPS %d(SI), %s", at, a.reg(0))
		a.p("VCVTPS2PH $0, %s, %s1", a.reg(0), halfReg)
		a.p("VMOVUPS %s1, %d(DI)", halfReg, at/2)
		a.p("VCVTPH2PS %s1, %s", halfReg, a.reg(1))
		if a.wide() {
			a.p("VPTERNLOGD $0xf6, %s, %s, %s", a.reg(1), a.reg(0), lost) // lost |= 0 ^ 1
		} else {
			a.p("VPXOR %s, %s, %s", a.reg(1), a.reg(0), a.reg(0))
			a.p("VPOR %s, %s, %s", a.reg(0), lost, lost)
		}
	}
	a.p("ADDQ $64, SI")
	a.p("ADDQ $32, DI")
	a.p("DECQ CX")
	a.p("JNZ loop")
	a.p("XORL AX, AX")
	if a.wide() {
		a.p("VPTESTMD %s, %s, K1", lost, lost)
		a.p("KORTESTW K1, K1")
	} else {
		a.p("VPTEST %s, %s", lost, lost)
	}
	a.p("SETNE AX")
	a.p("MOVL AX, %s", a.arg("lost"))
	a.ret()
}
