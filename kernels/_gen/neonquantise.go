package main

func neonQuantise(n *neon) {
	n.absSums()
	n.toInt16()
	n.toBytes()
	n.columnsMax()
	n.packGroups()
}

// absSums keeps the order of additions of absSumsGeneric: 32 lanes, the upper half folded on the lower until one is
// left.
func (n *neon) absSums() {
	const most = 8
	n.fn("absSumsNEON", "x *float32, n int", "most float32, sum float32")
	n.args("x", "R0", "n", "R1")
	for i := range 12 {
		n.zero(i)
	}
	n.each("R1", []string{"R0"}, 8, func(v int) {
		for i := range v {
			n.load("R0", 16*i, 16+i)
			n.op2("FABS", 16+i, 16+i)
			n.op3("FMAXNM", most+i%4, most+i%4, 16+i) // skips NaN, which shows in the sum
			n.op3("FADD", i, i, 16+i)
		}
	})
	for half := 4; half > 0; half /= 2 {
		for i := range half {
			n.op3("FADD", i, i, i+half)
		}
	}
	n.ext(1, 0, 0, 8)
	n.op3("FADD", 0, 0, 1)
	n.op2("FADDP.S", 0, 0)
	n.op3("FMAXNM", most, most, most+1)
	n.op3("FMAXNM", most+2, most+2, most+3)
	n.op3("FMAXNM", most, most, most+2)
	n.op2("FMAXNMV", most, most)
	n.p("FMOVS F%d, %s", most, n.arg("most"))
	n.p("FMOVS F0, %s", n.arg("sum"))
	n.ret()
}

// round makes integers of v vectors at ptr, times the scale in register 30, in registers from first on, and adds them
// to register 31.
func (n *neon) round(ptr string, v, first int) {
	for i := range v {
		n.load(ptr, 16*i, first+i)
		n.op3("FMUL", first+i, first+i, 30)
		n.op2("FCVTNS", first+i, first+i)
		n.op3("ADD", 31, 31, first+i)
	}
}

// narrow makes bytes of the low parts of four registers of integers from first on, in d. Register 29 is lost.
func (n *neon) narrow(d, first int) {
	n.op2("XTN.4H", d, first)
	n.op2("XTN2.8H", d, first+1)
	n.op2("XTN.4H", 29, first+2)
	n.op2("XTN2.8H", 29, first+3)
	n.op2("XTN.8B", d, d)
	n.op2("XTN2.16B", d, 29)
}

// total writes the sum of register 31's lanes to an argument.
func (n *neon) total(name string) {
	n.op2("ADDV", 31, 31)
	n.p("FMOVS F31, %s", n.arg(name))
}

func (n *neon) toInt16() {
	n.fn("toInt16NEON", "dst *int16, x *float32, n int, scale float32", "sum int32")
	n.args("dst", "R2", "x", "R0", "n", "R1")
	n.param("scale", 30)
	n.zero(31)
	n.each("R1", []string{"R0"}, 2, func(v int) {
		n.round("R0", v, 0)
		n.op2("XTN.4H", 4, 0)
		if v == 2 {
			n.op2("XTN2.8H", 4, 1)
			n.store(4, "R2", 0)
		} else {
			n.p("FMOVD F4, (R2)")
		}
		n.p("ADD $%d, R2", 8*v)
	})
	n.total("sum")
	n.ret()
}

func (n *neon) toBytes() {
	const lo, hi, some, half = 16, 17, 18, 19
	n.fn("toBytesNEON", "lo *int8, hi *int8, x *float32, n int, scale float32", "sum int32, any int32")
	n.args("lo", "R2", "hi", "R3", "x", "R0", "n", "R1")
	n.param("scale", 30)
	n.zero(31)
	n.zero(some)
	n.bits(half, 128)
	n.p("loop:")
	n.round("R0", 4, 0)
	n.narrow(lo, 0)
	n.store(lo, "R2", 0)
	for i := range 4 {
		n.op3("ADD", i, i, half)
		n.sar(i, i, 8)
	}
	n.narrow(hi, 0)
	n.store(hi, "R3", 0)
	n.op3("ORR", some, some, hi)
	n.p("ADD $64, R0")
	n.p("ADD $16, R2")
	n.p("ADD $16, R3")
	n.p("SUBS $16, R1, R1")
	n.p("BNE loop")
	n.total("sum")
	n.any(some, "any")
	n.ret()
}

// any writes the bits that are set in some lane of x to a result. Register 0 and x are lost.
func (n *neon) any(x int, result string) {
	n.ext(0, x, x, 8)
	n.op3("ORR", x, x, 0)
	n.p("FMOVD F%d, R4", x)
	n.p("LSR $32, R4, R5")
	n.p("ORR R5, R4, R4")
	n.p("MOVW R4, %s", n.arg(result))
}

func (n *neon) columnsMax() {
	n.fn("columnsMaxNEON", "most *float32, x *float32, ldx int, rows int", "")
	n.args("most", "R0", "x", "R2", "ldx", "R3", "rows", "R1")
	for i := range 4 {
		n.load("R0", 16*i, i)
	}
	n.p("loop:")
	for i := range 4 {
		n.load("R2", 16*i, 4+i)
		n.op2("FABS", 4+i, 4+i)
		n.op3("FMAX", i, i, 4+i)
	}
	n.p("ADD R3, R2, R2")
	n.p("SUBS $1, R1, R1")
	n.p("BNE loop")
	for i := range 4 {
		n.store(i, "R0", 16*i)
	}
	n.ret()
}

func (n *neon) packGroups() {
	const scales, bytes, top = 20, 16, 28
	n.fn("packGroupsNEON", "dst *uint8, x *float32, ldx int, groups int, scale *float32", "")
	n.args("dst", "R0", "x", "R2", "ldx", "R3", "groups", "R1", "scale", "R4")
	for i := range 4 {
		n.load("R4", 16*i, scales+i)
	}
	n.bits(top, 0x80808080)
	n.p("loop:")
	for r := range 4 {
		for i := range 4 {
			n.load("R2", 16*i, i)
			n.op3("FMUL", i, i, scales+i)
			n.op2("FCVTNS", i, i)
		}
		n.narrow(bytes+r, 0)
		n.op3("EOR", bytes+r, bytes+r, top)
		n.p("ADD R3, R2, R2")
	}
	n.p("VST4.P [V16.B16, V17.B16, V18.B16, V19.B16], 64(R0)")
	n.p("SUBS $1, R1, R1")
	n.p("BNE loop")
	n.ret()
}
