package main

import "fmt"

// sevenRows is how many rows of seven bits a tile has: with two registers of columns it leaves room for four of
// weights.
const sevenRows = 3

// tileSevens writes the inner kernel of a product of seven-bit rows, tileSevensGeneric for a strip of rows in runs of
// at most sevenRows, which meet a panel while it is in the first-level cache, and for t.tiles panels side by side. Two
// groups of four k are added in 16 bits before they are widened, which packing saw to: no sum of four weights of one
// sign is above 258, and 127*258 is just within. R13 is the run's first row. low adds the products of the low parts.
func (a *asm) tileSevens(name string, low func(rows int)) {
	a.isa, a.useStructs = avx2, true
	a.fn(name, "t *tileI8", "")
	a.p("MOVQ %s, DX", a.arg("t"))
	a.p("VPCMPEQW %s, %s, %s", sevenOnes, sevenOnes, sevenOnes)
	a.p("VPSRLW $15, %s, %s", sevenOnes, sevenOnes)
	label := func(rows int) string { return fmt.Sprintf("rows%d", rows) }
	a.p("panel:")
	a.p("XORL R13, R13")
	a.p("run:")
	a.p("MOVQ %s, AX", field("rows"))
	a.p("SUBQ R13, AX")
	for rows := 1; rows < sevenRows; rows++ {
		a.p("CMPQ AX, $%d", rows)
		a.p("JEQ %s", label(rows))
	}
	for rows := sevenRows; rows > 0; rows-- {
		a.p("%s:", label(rows))
		a.p("MOVQ %s, DI", field("b"))
		for r := range rows {
			a.zero(a.sumOf(r, 0))
			a.zero(a.sumOf(r, 1))
		}
		a.highSevens(rows)
		low(rows)
		a.dequantiseSevens(rows)
		a.p("ADDQ $%d, R13", rows)
		a.p("CMPQ R13, %s", field("rows"))
		a.p("JLT run")
		a.p("JMP next")
	}
	a.p("next:")
	a.p("DECQ %s", field("tiles"))
	a.p("JEQ done")
	a.p("MOVQ %s, AX", field("ldb"))
	a.p("ADDQ AX, %s", field("b"))
	for _, f := range []string{"c", "colScale", "colSum", "bias"} {
		a.p("ADDQ $64, %s", field(f))
	}
	a.p("JMP panel")
	a.p("done:")
	a.ret()
}

// sevenOnes are 16-bit ones: a product with them adds neighbours, in 32 bits.
const sevenOnes = "Y15"

// highSevens adds the high bytes of each row's listed groups, and makes room for the low ones. VPMADDUBSW wants one
// factor unsigned, so the weights take the activations' signs.
func (a *asm) highSevens(rows int) {
	a.p("MOVQ %s, R8", field("groups"))
	a.p("MOVQ R8, R9")
	a.p("IMULQ R13, R9")
	a.p("MOVQ %s, R10", field("counts"))
	a.p("LEAQ (R10)(R13*8), R10")
	a.p("MOVQ %s, R11", field("high"))
	a.p("LEAQ (R11)(R9*4), R11")
	a.p("MOVQ %s, R12", field("list"))
	a.p("LEAQ (R12)(R9*4), R12")
	for r := range rows {
		loop, done := a.label("high"), a.label("low")
		a.p("MOVQ %d(R10), CX", 8*r)
		a.p("TESTQ CX, CX")
		a.p("JEQ %s", done)
		a.p("XORL BX, BX")
		a.p("%s:", loop)
		a.p("MOVLQZX (R12)(BX*4), AX")
		a.p("VPBROADCASTD (R11)(BX*4), Y8")
		a.p("VPABSB Y8, Y9")
		for j := range 2 {
			a.p("VMOVDQU %d(DI)(AX*1), Y%d", 32*j, 10+j)
			a.p("VPSIGNB Y8, Y%d, Y%d", 10+j, 10+j)
			a.p("VPMADDUBSW Y%d, Y9, Y%d", 10+j, 10+j)
			a.p("VPMADDWD %s, Y%d, Y%d", sevenOnes, 10+j, 10+j)
			a.p("VPADDD Y%d, %s, %s", 10+j, a.sumOf(r, j), a.sumOf(r, j))
		}
		a.p("INCQ BX")
		a.p("CMPQ BX, CX")
		a.p("JNE %s", loop)
		for j := range 2 {
			a.p("VPSLLD $7, %s, %s", a.sumOf(r, j), a.sumOf(r, j))
		}
		a.p("%s:", done)
		if r < rows-1 { // a row's list and its bytes have room for four bytes a group each
			a.p("LEAQ (R12)(R8*4), R12")
			a.p("LEAQ (R11)(R8*4), R11")
		}
	}
}

// lowSevens adds the products of all groups' low parts.
func (a *asm) lowSevens(rows int) {
	a.lowRows("SI")
	a.p("MOVQ %s, CX", field("groups"))
	a.p("SHRQ $2, CX")
	a.p("MOVQ %s, AX", field("ahead"))
	loop := a.label("loop")
	a.p("PCALIGN $32")
	a.p("%s:", loop)
	const pairs = 2
	for p := range pairs {
		for i := range 4 {
			if i%2 == 0 {
				a.p("PREFETCHT1 %d(DI)(AX*1)", 128*p+32*i)
			}
			a.p("VMOVDQU %d(DI), Y%d", 128*p+32*i, 6+i)
		}
		a.pairSevens(rows, "SI", 8*p)
	}
	a.p("ADDQ $%d, SI", 8*pairs)
	a.p("ADDQ $%d, DI", 128*pairs)
	a.p("DECQ CX")
	a.p("JNZ %s", loop)
}

// lowBlocks adds the products of the low parts in the run's listed blocks, each of two groups.
func (a *asm) lowBlocks(rows int) {
	a.lowRows("R9")
	done := a.label("none")
	a.p("MOVQ %s, AX", field("filled"))
	a.p("MOVQ (AX)(R13*8), CX")
	a.p("TESTQ CX, CX")
	a.p("JEQ %s", done)
	a.p("MOVQ %s, AX", field("groups"))
	a.p("IMULQ R13, AX")
	a.p("MOVQ %s, R12", field("blocks"))
	a.p("LEAQ (R12)(AX*2), R12") // four bytes for two groups
	loop := a.label("loop")
	a.p("PCALIGN $32")
	a.p("%s:", loop)
	a.p("MOVLQZX (R12), AX")
	a.p("ADDQ $4, R12")
	a.p("LEAQ (R9)(AX*1), SI")
	a.p("SHLQ $4, AX")
	for i := range 4 {
		a.p("VMOVDQU %d(DI)(AX*1), Y%d", 32*i, 6+i)
	}
	a.pairSevens(rows, "SI", 0)
	a.p("DECQ CX")
	a.p("JNZ %s", loop)
	a.p("%s:", done)
}

// lowRows leaves the address of the run's low parts in at, and their stride in R8.
func (a *asm) lowRows(at string) {
	a.p("MOVQ %s, R8", field("lda"))
	a.p("MOVQ R8, %s", at)
	a.p("IMULQ R13, %s", at)
	a.p("ADDQ %s, %s", field("lo"), at)
}

// pairSevens adds the products of two groups, those of the panel being in Y6 to Y9, of the rows bytes behind base, R8
// apart.
func (a *asm) pairSevens(rows int, base string, bytes int) {
	at := []string{"", "(R8*1)", "(R8*2)"}
	for r := range rows {
		a.p("VPBROADCASTD %d(%s)%s, Y10", bytes, base, at[r])
		a.p("VPBROADCASTD %d(%s)%s, Y11", bytes+4, base, at[r])
		a.p("VPMADDUBSW Y6, Y10, Y12")
		a.p("VPMADDUBSW Y7, Y10, Y13")
		a.p("VPMADDUBSW Y8, Y11, Y10")
		a.p("VPMADDUBSW Y9, Y11, Y11")
		for j := range 2 {
			a.p("VPADDW Y%d, Y%d, Y%d", 10+j, 12+j, 12+j)
			a.p("VPMADDWD %s, Y%d, Y%d", sevenOnes, 12+j, 12+j)
			a.p("VPADDD Y%d, %s, %s", 12+j, a.sumOf(r, j), a.sumOf(r, j))
		}
	}
}

// dequantiseSevens takes the rows' zeros away, turns the sums into numbers and stores them.
func (a *asm) dequantiseSevens(rows int) {
	a.p("MOVQ %s, DI", field("corr"))
	a.p("LEAQ (DI)(R13*4), DI")
	a.p("MOVQ %s, R10", field("colSum"))
	a.p("MOVQ %s, CX", field("rowScale"))
	a.p("LEAQ (CX)(R13*4), CX")
	a.p("MOVQ %s, BX", field("colScale"))
	a.p("MOVQ %s, SI", field("bias"))
	a.p("MOVQ %s, AX", field("ldc"))
	a.p("SHLQ $2, AX")
	a.p("MOVQ AX, R9")
	a.p("IMULQ R13, R9")
	a.p("ADDQ %s, R9", field("c"))
	for r := range rows {
		a.p("VPBROADCASTD %d(DI), Y12", 4*r)
		a.p("VBROADCASTSS %d(CX), Y13", 4*r)
		for j := range 2 {
			sum := a.sumOf(r, j)
			a.p("VPMULLD %d(R10), Y12, Y14", 32*j)
			a.p("VPSUBD Y14, %s, %s", sum, sum)
			a.p("VCVTDQ2PS %s, %s", sum, sum)
			a.p("VMULPS %d(BX), Y13, Y14", 32*j)
			a.p("VFMADD213PS %d(SI), Y14, %s", 32*j, sum)
			a.p("VMOVUPS %s, %d(R9)", sum, 32*j)
		}
		if r < rows-1 {
			a.p("ADDQ AX, R9")
		}
	}
}

// sevens writes what makes seven-bit rows, and weights for them.
func sevens(a *asm) {
	a.isa = avx2
	a.spread()
	a.toSevens()
	a.quadSums()
	a.columnsQuads()
	a.panelSums()
	a.tileSevens("tileSevensAVX2", a.lowSevens)
	a.tileSevens("tileSevensBlocksAVX2", a.lowBlocks)
}

// spread is absSums that finds how far below zero the numbers go, too.
func (a *asm) spread() {
	a.fn("spreadAVX2", "x *float32, n int", "most float32, sum float32, below float32")
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.fill(absMask, "Y12")
	for i := range 12 {
		a.zero(a.reg(i))
	}
	loop := a.label("loop")
	a.p("%s:", loop)
	for i := range 4 {
		a.p("VMOVUPS %d(SI), Y13", 32*i)
		a.p("VMINPS Y%d, Y13, Y%d", 8+i, 8+i)
		a.p("VANDPS Y12, Y13, Y13")
		a.p("VMAXPS Y%d, Y13, Y%d", i, i)
		a.p("VADDPS Y13, Y%d, Y%d", 4+i, 4+i)
	}
	a.p("ADDQ $128, SI")
	a.p("SUBQ $32, CX")
	a.p("JNZ %s", loop)
	a.reduce("ADD", 4, 4, 13)
	a.p("VMOVSS X4, %s", a.arg("sum"))
	a.reduce("MAX", 0, 4, 13)
	a.p("VMOVSS X0, %s", a.arg("most"))
	a.reduce("MIN", 8, 4, 13)
	a.p("VANDPS X12, X8, X8")
	a.p("VMOVSS X8, %s", a.arg("below"))
	a.ret()
}

// toSevens rounds, adds zero and takes the numbers apart, q = 128*hi + lo with lo in [0, 127]. It reports whether any
// hi is not zero.
func (a *asm) toSevens() {
	a.fn("toSevensAVX2", "lo *int8, hi *int8, x *float32, n int, scale float32, zero int32", "any int32")
	a.p("MOVQ %s, DI", a.arg("lo"))
	a.p("MOVQ %s, DX", a.arg("hi"))
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.p("LEAQ (SI)(CX*4), R8")
	a.p("VBROADCASTSS %s, Y8", a.arg("scale"))
	a.p("VBROADCASTSS %s, Y9", a.arg("zero"))
	a.zero("Y10")
	a.fill(bits("words127", 0x007f007f), "Y11")
	a.use(joinBytes)
	a.p("VMOVDQU joinBytes<>(SB), Y12")
	loop := a.label("loop")
	a.p("%s:", loop)
	a.prefetchNext()
	for i := range 4 {
		a.p("VMULPS %d(SI), Y8, Y%d", 32*i, i)
		a.p("VCVTPS2DQ Y%d, Y%d", i, i)
		a.p("VPADDD Y9, Y%d, Y%d", i, i)
	}
	for i := range 2 {
		a.p("VPACKSSDW Y%d, Y%d, Y%d", 2*i+1, 2*i, i)
	}
	for i := range 2 {
		a.p("VPSRAW $7, Y%d, Y%d", i, 2+i)
		a.p("VPOR Y%d, Y10, Y10", 2+i)
		a.p("VPAND Y11, Y%d, Y%d", i, i)
	}
	a.p("VPACKUSWB Y1, Y0, Y0")
	a.p("VPACKSSWB Y3, Y2, Y2")
	for i, ptr := range []string{"DI", "DX"} {
		a.p("VPERMD Y%d, Y12, Y%d", 2*i, 2*i)
		a.p("VMOVDQU Y%d, (%s)", 2*i, ptr)
	}
	a.p("ADDQ $128, SI")
	a.p("ADDQ $32, DI")
	a.p("ADDQ $32, DX")
	a.p("SUBQ $32, CX")
	a.p("JNZ %s", loop)
	a.p("XORL AX, AX")
	a.p("VPTEST Y10, Y10")
	a.p("SETNE AX")
	a.p("MOVL AX, %s", a.arg("any"))
	a.ret()
}

// quadSums finds the greatest of the sums that a tile makes in 16 bits: of four numbers, those above zero or those
// below.
func (a *asm) quadSums() {
	a.fn("quadSumsAVX2", "x *float32, n int", "most float32")
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.zero("Y6")
	a.zero("Y7")
	loop := a.label("loop")
	a.p("%s:", loop)
	a.p("VMOVUPS (SI), Y0")
	a.p("VMAXPS Y7, Y0, Y1")
	a.p("VSUBPS Y0, Y1, Y2")
	a.p("VHADDPS Y2, Y1, Y3")
	a.p("VEXTRACTF128 $1, Y3, X4")
	a.p("VADDPS X4, X3, X3")
	a.p("VMAXPS X3, X6, X6")
	a.p("ADDQ $32, SI")
	a.p("SUBQ $8, CX")
	a.p("JNZ %s", loop)
	a.reduce("MAX", 6, 1, 7)
	a.p("VMOVSS X6, %s", a.arg("most"))
	a.ret()
}

// columnsQuads raises most, 16 columns, to their sums in the eights of rows of x.
func (a *asm) columnsQuads() {
	a.fn("columnsQuadsAVX2", "most *float32, x *float32, ldx int, eights int", "")
	a.p("MOVQ %s, DI", a.arg("most"))
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, R8", a.arg("ldx"))
	a.p("MOVQ %s, CX", a.arg("eights"))
	a.p("VMOVUPS (DI), Y12")
	a.p("VMOVUPS 32(DI), Y13")
	a.zero("Y14")
	loop := a.label("loop")
	a.p("%s:", loop)
	for i := range 8 { // above and below of two vectors of columns, then the same of the other sum
		a.zero(a.reg(i))
	}
	for r := range 8 {
		sum := r / 2 % 2 * 4
		for j := range 2 {
			a.p("VMOVUPS %d(SI), Y8", 32*j)
			a.p("VMAXPS Y14, Y8, Y9")
			a.p("VSUBPS Y8, Y9, Y10")
			a.p("VADDPS Y9, Y%d, Y%d", sum+j, sum+j)
			a.p("VADDPS Y10, Y%d, Y%d", sum+2+j, sum+2+j)
		}
		a.p("ADDQ R8, SI")
	}
	for i := range 8 {
		a.p("VMAXPS Y%d, Y%d, Y%d", i, 12+i%2, 12+i%2)
	}
	a.p("DECQ CX")
	a.p("JNZ %s", loop)
	a.p("VMOVUPS Y12, (DI)")
	a.p("VMOVUPS Y13, 32(DI)")
	a.ret()
}

// panelSums sums a panel's columns.
func (a *asm) panelSums() {
	a.fn("panelSumsAVX2", "sums *int32, panel *uint8, groups int", "")
	a.p("MOVQ %s, DI", a.arg("sums"))
	a.p("MOVQ %s, SI", a.arg("panel"))
	a.p("MOVQ %s, CX", a.arg("groups"))
	a.p("VPCMPEQW Y5, Y5, Y5")
	a.p("VPABSB Y5, Y4")
	a.p("VPSRLW $15, Y5, Y5")
	a.zero("Y0")
	a.zero("Y1")
	loop := a.label("loop")
	a.p("%s:", loop)
	for j := range 2 {
		a.p("VPMADDUBSW %d(SI), Y4, Y%d", 32*j, 2+j)
		a.p("VPMADDWD Y5, Y%d, Y%d", 2+j, 2+j)
		a.p("VPADDD Y%d, Y%d, Y%d", 2+j, j, j)
	}
	a.p("ADDQ $64, SI")
	a.p("DECQ CX")
	a.p("JNZ %s", loop)
	a.p("VMOVDQU Y0, (DI)")
	a.p("VMOVDQU Y1, 32(DI)")
	a.ret()
}
