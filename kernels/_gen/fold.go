package main

var (
	reverse8  = constant{"reverse8", []uint32{7, 6, 5, 4, 3, 2, 1, 0}}
	reverse16 = constant{"reverse16", []uint32{15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}}
)

func fold(a *asm) { a.both(a.foldQuarters) }

// foldQuarters walks a quarter from its start, forwards in some factors and backwards in others. The last vector may be
// a whole one that begins earlier.
func (a *asm) foldQuarters() {
	a.fn("foldQuarters"+a.name, "evenSum *float32, oddSum *float32, evenDiff *float32, oddDiff *float32, x *float32, w *float32, q int", "")
	dst := []string{"DI", "SI", "BX", "DX"}
	for i, name := range []string{"evenSum", "oddSum", "evenDiff", "oddDiff"} {
		a.p("MOVQ %s, %s", a.arg(name), dst[i])
	}
	a.p("MOVQ %s, R8", a.arg("x"))
	a.p("MOVQ %s, R9", a.arg("w"))
	a.p("MOVQ %s, R10", a.arg("q"))
	order := a.reg(15)
	if a.wide() {
		a.use(reverse16)
		a.p("VMOVDQU32 reverse16<>(SB), %s", order)
	} else {
		a.use(reverse8)
		a.p("VMOVDQU reverse8<>(SB), %s", order)
	}
	// R11 is x at 2q, R12 at 4q; R13 is w at 2q. R10 is the last place where a whole vector begins, CX where the next
	// one does.
	a.p("LEAQ (R8)(R10*8), R11")
	a.p("LEAQ (R11)(R10*8), R12")
	a.p("LEAQ (R9)(R10*8), R13")
	a.p("SUBQ $%d, R10", a.lanes)
	a.p("XORL CX, CX")
	loop, body, done := a.label("loop"), a.label("body"), a.label("done")
	a.p("%s:", loop)
	a.p("CMPQ CX, R10")
	a.p("JLE %s", body)
	a.p("MOVQ R10, CX")
	a.p("%s:", body)
	a.p("MOVQ CX, AX")
	a.p("NEGQ AX")
	back := func(from string, r string) {
		a.p("VMOVUPS %d(%s)(AX*4), %s", -4*(a.lanes-1), from, r)
		a.p("VPERMPS %s, %s, %s", r, order, r)
	}
	w0, w1 := a.reg(0), a.reg(1)
	x := []string{a.reg(2), a.reg(3), a.reg(4), a.reg(5)}
	a.p("VMOVUPS (R9)(CX*4), %s", w0)
	back("R13", w1)
	a.p("VMULPS (R8)(CX*4), %s, %s", w0, x[0])
	back("R12", x[1])
	a.p("VMULPS %s, %s, %s", x[1], w0, x[1])
	back("R11", x[2])
	a.p("VMULPS %s, %s, %s", x[2], w1, x[2])
	a.p("VMULPS (R11)(CX*4), %s, %s", w1, x[3])
	for i, op := range []string{"ADD", "SUB"} {
		ab, cd, r := a.reg(6), a.reg(7), a.reg(8)
		a.p("V%sPS %s, %s, %s", op, x[1], x[0], ab)
		a.p("V%sPS %s, %s, %s", op, x[3], x[2], cd)
		first, second := "ADD", "SUB"
		if i == 1 {
			first, second = "SUB", "ADD"
		}
		a.p("V%sPS %s, %s, %s", first, cd, ab, r)
		a.p("VMOVUPS %s, (%s)(CX*4)", r, dst[2*i])
		a.p("V%sPS %s, %s, %s", second, cd, ab, r)
		a.p("VMOVUPS %s, (%s)(CX*4)", r, dst[2*i+1])
	}
	a.p("CMPQ CX, R10")
	a.p("JEQ %s", done)
	a.p("ADDQ $%d, CX", a.lanes)
	a.p("JMP %s", loop)
	a.p("%s:", done)
	a.ret()
}
