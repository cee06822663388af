package main

func neonVector(n *neon) {
	n.pairwise("add", 4, func(x, y int) { n.op3("FADD", x, x, y) })
	n.pairwise("addSquares", 4, func(x, y int) {
		n.op3("FMUL", x, x, x)
		n.op3("FMLA", x, y, y)
	})

	n.fn("scaleNEON", "x *float32, n int, s float32", "")
	n.args("x", "R0", "n", "R1")
	n.param("s", 8)
	n.each("R1", []string{"R0"}, 4, func(v int) {
		for i := range v {
			n.load("R0", 16*i, i)
			n.op3("FMUL", i, i, 8)
			n.store(i, "R0", 16*i)
		}
	})
	n.ret()

	n.fn("axpyNEON", "dst *float32, x *float32, n int, s float32", "")
	n.args("dst", "R0", "x", "R2", "n", "R1")
	n.param("s", 8)
	n.each("R1", []string{"R0", "R2"}, 4, func(v int) {
		for i := range v {
			n.load("R0", 16*i, i)
			n.load("R2", 16*i, 4+i)
			n.op3("FMLA", i, 4+i, 8)
			n.store(i, "R0", 16*i)
		}
	})
	n.ret()

	n.fn("dotNEON", "x *float32, y *float32, n int", "sum float32")
	n.args("x", "R0", "y", "R2", "n", "R1")
	n.dotLoop()
	n.p("FMOVS F0, %s", n.arg("sum"))
	n.ret()

	n.fn("raiseNEON", "x *float32, n int, least float32, scale float32, shift float32", "")
	n.args("x", "R0", "n", "R1")
	n.param("least", 16)
	n.param("scale", 17)
	n.param("shift", 18)
	n.each("R1", []string{"R0"}, 4, func(v int) {
		for i := range v {
			n.load("R0", 16*i, i)
			n.op3("FMAX", i, i, 16)
			n.move(4+i, 18)
			n.op3("FMLA", 4+i, i, 17)
			n.store(4+i, "R0", 16*i)
		}
	})
	n.ret()
}

// pairwise is a kernel that makes of two vectors x and y a third, which f leaves in x.
func (n *neon) pairwise(name string, unroll int, f func(x, y int)) {
	n.fn(name+"NEON", "dst *float32, x *float32, y *float32, n int", "")
	n.args("dst", "R0", "x", "R2", "y", "R3", "n", "R1")
	n.each("R1", []string{"R0", "R2", "R3"}, unroll, func(v int) {
		for i := range v {
			n.load("R2", 16*i, 2*i)
			n.load("R3", 16*i, 2*i+1)
			f(2*i, 2*i+1)
			n.store(2*i, "R0", 16*i)
		}
	})
	n.ret()
}

// dotLoop leaves the product of the R1 elements at R0 and R2 in lane 0 of register 0, and both pointers behind them.
func (n *neon) dotLoop() {
	for i := range 4 {
		n.zero(i)
	}
	n.each("R1", []string{"R0", "R2"}, 4, func(v int) {
		for i := range v {
			n.load("R0", 16*i, 4+i)
			n.load("R2", 16*i, 8+i)
			n.op3("FMLA", i, 4+i, 8+i)
		}
	})
	n.sum(0)
}

func neonAttentionRow(n *neon) {
	n.fn("dotRowsNEON", "dst *float32, q *float32, x *float32, ldx int, rows int, n int", "")
	n.args("dst", "R3", "q", "R4", "x", "R5", "ldx", "R6", "rows", "R7", "n", "R8")
	n.p("rows:")
	n.p("MOVD R4, R0")
	n.p("MOVD R5, R2")
	n.p("MOVD R8, R1")
	n.dotLoop()
	n.p("FMOVS.P F0, 4(R3)")
	n.p("ADD R6, R5, R5")
	n.p("SUBS $1, R7, R7")
	n.p("BNE rows")
	n.ret()

	// Up to four vectors of the result stay in registers while the rows pass.
	n.fn("addRowsNEON", "dst *float32, p *float32, x *float32, ldx int, rows int, n int", "")
	n.args("dst", "R0", "x", "R2", "ldx", "R6", "n", "R1")
	n.each("R1", []string{"R0", "R2"}, 4, func(v int) {
		n.overRows(v, "rows", func() { n.args("p", "R3") }, func() {
			n.p("VLD1R.P 4(R3), [V8.S4]")
			for i := range v {
				n.load("R4", 16*i, 4+i)
				n.op3("FMLA", i, 4+i, 8)
			}
		})
	})
	n.ret()
}

// overRows loads v vectors at R0, runs each for as many rows as the argument says with R4 on the row, from R2 on R6
// bytes apart, and stores them.
func (n *neon) overRows(v int, count string, start, each func()) {
	rows := n.label("rows")
	for i := range v {
		n.load("R0", 16*i, i)
	}
	n.args(count, "R5")
	n.p("MOVD R2, R4")
	start()
	n.p("%s:", rows)
	each()
	n.p("ADD R6, R4, R4")
	n.p("SUBS $1, R5, R5")
	n.p("BNE %s", rows)
	for i := range v {
		n.store(i, "R0", 16*i)
	}
}

func neonDepthwise(n *neon) {
	n.fn("depthwiseNEON", "dst *float32, x *float32, ldx int, w *float32, ldw int, taps int, n int", "")
	n.args("dst", "R0", "x", "R2", "ldx", "R6", "w", "R3", "ldw", "R7", "n", "R1")
	n.each("R1", []string{"R0", "R2", "R3"}, 4, func(v int) {
		n.overRows(v, "taps", func() { n.p("MOVD R3, R8") }, func() {
			for i := range v {
				n.load("R4", 16*i, 4+i)
				n.load("R8", 16*i, 8+i)
				n.op3("FMLA", i, 4+i, 8+i)
			}
			n.p("ADD R7, R8, R8")
		})
	})
	n.ret()
}

func neonPeak(n *neon) {
	for _, f := range []struct{ name, op string }{{"peakNEON", "FMLA"}, {"peakI8NEONDot", "SDOT"}} {
		const sums = 24
		n.fn(f.name, "n int", "")
		n.args("n", "R0")
		for i := range sums {
			n.zero(i)
		}
		n.p("loop:")
		for i := range sums {
			n.op3(f.op, i, 30, 31)
		}
		n.p("SUBS $1, R0, R0")
		n.p("BNE loop")
		n.ret()
	}
}

// neonFold walks a quarter from its start, forwards in some factors and backwards in others. The last vector may be a
// whole one that begins earlier. See fold.
func neonFold(n *neon) {
	n.fn("foldQuartersNEON", "evenSum *float32, oddSum *float32, evenDiff *float32, oddDiff *float32, x *float32, w *float32, q int", "")
	n.args("evenSum", "R0", "oddSum", "R1", "evenDiff", "R2", "oddDiff", "R3", "x", "R4", "w", "R5", "q", "R6")
	// R7 is x at 2q, R8 at 4q; R9 is w at 2q. R10 is the last place where a whole vector begins, R11 where the next one
	// does.
	n.p("ADD R6<<3, R4, R7")
	n.p("ADD R6<<3, R7, R8")
	n.p("ADD R6<<3, R5, R9")
	n.p("SUB $%d, R6, R10", lanes)
	n.p("MOVD ZR, R11")
	n.p("loop:")
	n.p("CMP R10, R11")
	n.p("CSEL GT, R10, R11, R11")
	forth := func(from string, d int) {
		n.p("ADD R11<<2, %s, R12", from)
		n.load("R12", 0, d)
	}
	back := func(from string, d int) {
		n.p("SUB R11<<2, %s, R12", from)
		n.p("SUB $%d, R12", 4*(lanes-1))
		n.load("R12", 0, d)
		n.op2("REV64", d, d)
		n.ext(d, d, d, 8)
	}
	forth("R5", 0)
	back("R9", 1)
	forth("R4", 2)
	back("R8", 3)
	back("R7", 4)
	forth("R7", 5)
	for i, w := range []int{0, 0, 1, 1} {
		n.op3("FMUL", 2+i, 2+i, w)
	}
	put := func(s int, to string) {
		n.p("ADD R11<<2, %s, R12", to)
		n.store(s, "R12", 0)
	}
	n.op3("FADD", 6, 2, 3)
	n.op3("FADD", 7, 4, 5)
	n.op3("FADD", 8, 6, 7)
	put(8, "R0")
	n.op3("FSUB", 8, 6, 7)
	put(8, "R1")
	n.op3("FSUB", 6, 2, 3)
	n.op3("FSUB", 7, 4, 5)
	n.op3("FSUB", 8, 6, 7)
	put(8, "R2")
	n.op3("FADD", 8, 6, 7)
	put(8, "R3")
	n.p("CMP R10, R11")
	n.p("BEQ done")
	n.p("ADD $%d, R11", lanes)
	n.p("B loop")
	n.p("done:")
	n.ret()
}
