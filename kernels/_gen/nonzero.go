package main

// nonzero writes what lists the parts of rows that aren't zero, without a branch for any of them: lanes that count are
// moved together, as a table of all their patterns says, and stored with the rest, which the next ones overwrite.
func nonzero(a *asm) {
	a.isa = avx2
	a.listWords()
	a.listBlocks()
}

// listWords lists eight words a turn.
func (a *asm) listWords() {
	a.fn("listWordsAVX2", "list *uint32, nonzero *uint32, words *uint32, n int, setBits *[256][8]uint8", "count int")
	a.p("MOVQ %s, DX", a.arg("nonzero"))
	a.listTurns("words", bits("eightGroups", 8*64), func() {
		a.p("VMOVDQU (SI), Y0")
		a.p("VPCMPEQD Y4, Y0, Y1")
		a.p("VMOVMSKPS Y1, AX")
		a.p("XORL $0xff, AX")
		a.p("VPMOVZXBD (R9)(AX*8), Y2")
		a.p("VPERMD Y0, Y2, Y0")
		a.p("VMOVDQU Y0, (DX)(BX*4)")
		a.p("VPSLLD $6, Y2, Y2")
		a.p("VPADDD Y5, Y2, Y2")
		a.p("VMOVDQU Y2, (DI)(BX*4)")
	})
}

// listBlocks lists four blocks of eight bytes a turn.
func (a *asm) listBlocks() {
	a.fn("listBlocksAVX2", "list *uint32, x *int8, ld int, rows int, n int, setBits *[256][8]uint8", "count int")
	a.p("MOVQ %s, R8", a.arg("ld"))
	a.listTurns("x", bits("fourBlocks", 4*8), func() {
		row := a.label("row")
		a.p("MOVQ SI, R10")
		a.p("MOVQ %s, R11", a.arg("rows"))
		a.p("VPXOR Y0, Y0, Y0")
		a.p("%s:", row)
		a.p("VPOR (R10), Y0, Y0")
		a.p("ADDQ R8, R10")
		a.p("DECQ R11")
		a.p("JNZ %s", row)
		a.p("VPCMPEQQ Y4, Y0, Y0")
		a.p("VMOVMSKPD Y0, AX")
		a.p("XORL $0xf, AX")
		a.p("VPMOVZXBD (R9)(AX*8), X2")
		a.p("VPSLLD $3, X2, X2")
		a.p("VPADDD X5, X2, X2")
		a.p("VMOVDQU X2, (DI)(BX*4)")
	})
}

// listTurns has turn list, from BX on in list at DI, what isn't zero of 32 bytes at SI, and leave in AX a bit for each.
// There R9 is setBits, Y4 zero and Y5 where the turn's first lane lies, which grows by step.
func (a *asm) listTurns(x string, step constant, turn func()) {
	a.p("MOVQ %s, DI", a.arg("list"))
	a.p("MOVQ %s, SI", a.arg(x))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.p("MOVQ %s, R9", a.arg("setBits"))
	a.p("XORL BX, BX")
	a.zero("Y4")
	a.zero("Y5")
	a.fill(step, "Y6")
	loop := a.label("loop")
	a.p("%s:", loop)
	turn()
	a.p("VPADDD Y6, Y5, Y5")
	a.p("POPCNTL AX, AX")
	a.p("ADDQ AX, BX")
	a.p("ADDQ $32, SI")
	a.p("SUBQ $32, CX")
	a.p("JNZ %s", loop)
	a.p("MOVQ BX, %s", a.arg("count"))
	a.ret()
}
