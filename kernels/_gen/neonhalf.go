package main

// neonHalf converts rows of 16 numbers. See half.
func neonHalf(n *neon) {
	n.fn("fromHalfNEON", "dst *float32, src *uint16, rows int", "")
	n.args("dst", "R0", "src", "R2", "rows", "R1")
	n.p("loop:")
	for i := range 2 {
		n.load("R2", 16*i, i)
		n.op2("FCVTL", 2, i)
		n.op2("FCVTL2", 3, i)
		n.store(2, "R0", 32*i)
		n.store(3, "R0", 32*i+16)
	}
	n.p("ADD $64, R0")
	n.p("ADD $32, R2")
	n.p("SUBS $1, R1, R1")
	n.p("BNE loop")
	n.ret()

	const lost = 31
	n.fn("toHalfNEON", "dst *uint16, src *float32, rows int", "lost int32")
	n.args("dst", "R2", "src", "R0", "rows", "R1")
	n.zero(lost)
	n.p("loop:")
	for i := range 2 {
		n.load("R0", 32*i, 0)
		n.load("R0", 32*i+16, 1)
		n.op2("FCVTN", 2, 0)
		n.op2("FCVTN2", 2, 1)
		n.store(2, "R2", 16*i)
		n.op2("FCVTL", 3, 2)
		n.op2("FCVTL2", 4, 2)
		for j := range 2 {
			n.op3("EOR", j, j, 3+j)
			n.op3("ORR", lost, lost, j)
		}
	}
	n.p("ADD $64, R0")
	n.p("ADD $32, R2")
	n.p("SUBS $1, R1, R1")
	n.p("BNE loop")
	n.any(lost, "lost")
	n.ret()
}
