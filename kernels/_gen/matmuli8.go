package main

import "fmt"

// product is how one tile of bytes multiplies fours of them, as VNNI does.
type product struct {
	name string // suffix of the Go function
	isa  *isa
	rows int // of the tallest strip
}

func matmulI8(a *asm) {
	for _, p := range []*product{{"I8AVX512VNNI", avx512, 12}, {"I8AVXVNNI", avx2, 6}} {
		a.isa = p.isa
		a.tileI8(p)
	}
}

// groupK is how many k one instruction multiplies for a column.
const groupK = 4

// field is the operand of a field of the tileI8 that DX points to. go_asm.h, which the Go command makes, has the
// offsets.
func field(name string) string { return "tileI8_" + name + "(DX)" }

// sumOf is the register of a row's sums in half j of the tile.
func (a *asm) sumOf(r, j int) string { return a.reg(2*r + j) }

// tileI8 writes the inner kernel of an int8 product, tileI8Generic for at most p.rows rows and two vectors of columns,
// with all sums in registers from the first k to the last, and for t.tiles such tiles side by side. It first adds the
// high bytes of those groups that have any.
func (a *asm) tileI8(p *product) {
	a.useStructs = true
	a.fn("tile"+p.name, "t *tileI8", "")
	a.p("MOVQ %s, DX", a.arg("t"))
	a.p("MOVQ %s, AX", field("rows"))
	name := func(rows int) string { return fmt.Sprintf("rows%d", rows) }
	for rows := p.rows; rows > 0; rows-- {
		a.p("CMPQ AX, $%d", rows)
		a.p("JEQ %s", name(rows))
	}
	a.ret()
	for rows := p.rows; rows > 0; rows-- {
		a.p("%s:", name(rows))
		a.stripI8(rows)
		a.nextTile(name(rows))
		a.ret()
	}
}

// nextTile goes on with the tile beside, if there is one: t's pointers move.
func (a *asm) nextTile(again string) {
	done := a.label("done")
	a.p("MOVQ %s, DX", a.arg("t"))
	a.p("DECQ %s", field("tiles"))
	a.p("JEQ %s", done)
	a.p("MOVQ %s, AX", field("ldb"))
	if a.wide() {
		a.p("ADDQ AX, AX")
	}
	a.p("ADDQ AX, %s", field("b"))
	for _, f := range []string{"c", "colScale", "bias"} {
		a.p("ADDQ $%d, %s", 2*a.bytes, field(f))
	}
	a.p("JMP %s", again)
	a.p("%s:", done)
}

func (a *asm) stripI8(rows int) {
	a.p("MOVQ %s, DI", field("b"))
	a.p("MOVQ %s, BX", field("ldb"))
	a.p("ADDQ DI, BX")
	for r := range rows {
		a.zero(a.sumOf(r, 0))
		a.zero(a.sumOf(r, 1))
	}
	a.highBytes(rows)
	a.p("MOVQ %s, R8", field("lda"))
	a.p("MOVQ %s, SI", field("lo"))
	bases := []string{"SI", "R9", "R10", "R11"}[:(rows+2)/3]
	if len(bases) > 1 {
		a.p("LEAQ (R8)(R8*2), R12")
	}
	for i := 1; i < len(bases); i++ {
		a.p("LEAQ (%s)(R12*1), %s", bases[i-1], bases[i])
	}
	at := func(r, off int) string {
		s := fmt.Sprintf("%d(%s)", off, bases[r/3])
		if r%3 > 0 {
			s += fmt.Sprintf("(R8*%d)", r%3)
		}
		return s
	}
	const unroll = 4
	loop := a.label("loop")
	a.p("MOVQ %s, CX", field("groups"))
	a.p("SHRQ $2, CX")
	a.p("MOVQ %s, AX", field("ahead"))
	a.p("PCALIGN $32")
	a.p("%s:", loop)
	for u := range unroll {
		a.p("PREFETCHT1 %d(DI)(AX*1)", 64*u)
		if a.wide() {
			a.p("PREFETCHT1 %d(BX)(AX*1)", 64*u)
		}
		a.groupVNNI(0, rows, u, at)
	}
	for _, b := range bases {
		a.p("ADDQ $%d, %s", groupK*unroll, b)
	}
	a.p("ADDQ $%d, DI", 64*unroll)
	if a.wide() {
		a.p("ADDQ $%d, BX", 64*unroll)
	}
	a.p("DECQ CX")
	a.p("JNZ %s", loop)
	a.dequantise(rows)
}

// listRows is how many rows share a list of high bytes.
const listRows = 6

// highBytes adds the listed groups' high bytes, list by list, and makes room for the low ones.
func (a *asm) highBytes(rows int) {
	low := a.label("low")
	a.p("MOVQ %s, R13", field("counts"))
	a.p("TESTQ R13, R13")
	a.p("JEQ %s", low)
	a.p("MOVQ %s, R8", field("groups"))
	a.p("MOVQ DI, R9")
	a.p("MOVQ BX, R10")
	a.p("MOVQ %s, SI", field("list"))
	a.p("MOVQ %s, R11", field("high"))
	for row := 0; row < rows; row += listRows {
		if row > 0 { // a list and its bytes have room for all groups
			a.p("LEAQ (SI)(R8*4), SI")
			a.p("IMUL3Q $%d, R8, R11", groupK*listRows)
			a.p("ADDQ %s, R11", field("high"))
		}
		a.listedBytes(row, min(rows, row+listRows))
	}
	a.p("MOVQ R9, DI")
	a.p("MOVQ R10, BX")
	a.p("%s:", low)
}

// listedBytes adds the high bytes of the groups that SI lists for rows row to end, and moves their sums up by a byte.
func (a *asm) listedBytes(row, end int) {
	loop, none := a.label("high"), a.label("none")
	a.p("MOVQ %d(R13), CX", row/listRows*8)
	a.p("TESTQ CX, CX")
	a.p("JEQ %s", none)
	a.p("MOVQ SI, R12")
	a.p("PCALIGN $32")
	a.p("%s:", loop)
	a.p("MOVLQZX (R12), AX")
	a.p("LEAQ (R9)(AX*1), DI")
	if a.wide() {
		a.p("LEAQ (R10)(AX*1), BX")
	}
	a.groupVNNI(row, end, 0, func(r, off int) string { return fmt.Sprintf("%d(R11)", groupK*(r-row)) })
	a.p("ADDQ $4, R12")
	a.p("ADDQ $%d, R11", groupK*listRows)
	a.p("DECQ CX")
	a.p("JNZ %s", loop)
	for r := row; r < end; r++ {
		for j := range 2 {
			a.p("VPSLLD $8, %s, %s", a.sumOf(r, j), a.sumOf(r, j))
		}
	}
	a.p("%s:", none)
}

// groupVNNI adds the products of rows row to end's group u, counted from the pointers. It has the weights as the
// unsigned factor and the activations as the signed one.
func (a *asm) groupVNNI(row, end, u int, at func(r, off int) string) {
	b0, b1 := a.reg(12), a.reg(13)
	x := []int{14, 15}
	load := "VMOVDQU"
	if a.wide() {
		b0, b1, x, load = a.reg(24), a.reg(25), []int{26, 27, 28, 29}, "VMOVDQU32"
		a.p("%s %d(DI), %s", load, 64*u, b0)
		a.p("%s %d(BX), %s", load, 64*u, b1)
	} else {
		a.p("%s %d(DI), %s", load, 64*u, b0)
		a.p("%s %d(DI), %s", load, 64*u+32, b1)
	}
	for r := row; r < end; r++ {
		v := x[r%len(x)]
		a.p("VPBROADCASTD %s, %s", at(r, 4*u), a.reg(v))
		if a.wide() {
			a.p("VPDPBUSD %s, %s, %s", a.reg(v), b0, a.sumOf(r, 0))
			a.p("VPDPBUSD %s, %s, %s", a.reg(v), b1, a.sumOf(r, 1))
		} else {
			a.dotVEX(2*r, 12, v)
			a.dotVEX(2*r+1, 13, v)
		}
	}
}

// dotVEX writes VPDPBUSD on AVX2 registers in the VEX form of AVX-VNNI, which the assembler lacks: it knows only
// AVX-512's.
func (a *asm) dotVEX(dst, unsigned, signed int) {
	inverted := func(r int) int { return ^r >> 3 & 1 }
	a.p("BYTE $0xc4; BYTE $%#02x; BYTE $%#02x; BYTE $0x50; BYTE $%#02x // VPDPBUSD Y%d, Y%d, Y%d",
		inverted(dst)<<7|1<<6|inverted(signed)<<5|2, ^unsigned&15<<3|1<<2|1, 0xc0|dst&7<<3|signed&7, signed, unsigned, dst)
}

// dequantise turns the sums into numbers and stores them.
func (a *asm) dequantise(rows int) {
	a.p("MOVQ %s, DI", field("corr"))
	a.p("MOVQ %s, CX", field("rowScale"))
	a.p("MOVQ %s, BX", field("colScale"))
	a.p("MOVQ %s, SI", field("bias"))
	a.p("MOVQ %s, R13", field("ldc"))
	a.p("SHLQ $2, R13")
	a.p("MOVQ %s, DX", field("c"))
	t, u := a.reg(12), a.reg(13)
	if a.wide() {
		t, u = a.reg(24), a.reg(25)
	}
	for r := range rows {
		a.p("VPBROADCASTD %d(DI), %s", 4*r, t)
		for j := range 2 {
			a.p("VPSUBD %s, %s, %s", t, a.sumOf(r, j), a.sumOf(r, j))
			a.p("VCVTDQ2PS %s, %s", a.sumOf(r, j), a.sumOf(r, j))
		}
		a.p("VBROADCASTSS %d(CX), %s", 4*r, t)
		for j := range 2 {
			a.p("VMULPS %d(BX), %s, %s", j*a.bytes, t, u)
			a.p("VFMADD213PS %d(SI), %s, %s", j*a.bytes, u, a.sumOf(r, j))
			a.p("VMOVUPS %s, %d(DX)", a.sumOf(r, j), j*a.bytes)
		}
		if r < rows-1 {
			a.p("ADDQ R13, DX")
		}
	}
}
