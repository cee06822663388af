package main

import "fmt"

// Weights are stored with 128 added; taking it away again, by the top bit, makes them signed as SDOT wants both
// factors, and the sums need no correction.
const topBits = 0x80808080

func neonMatmulI8(n *neon) {
	n.dotTile(4)
	n.wideTile()
}

// weightsAt reads 16 columns of four k each, signed, to four registers. Register 31 holds the top bits.
func (n *neon) weightsAt(ptr string, first int) {
	n.p("FLDPQ (%s), (F%d, F%d)", ptr, first, first+1)
	n.p("FLDPQ 32(%s), (F%d, F%d)", ptr, first+2, first+3)
	for j := range 4 {
		n.op3("EOR", first+j, first+j, 31)
	}
}

// dotTile computes up to four rows by 16 columns as tileI8Generic does, in SDOT's sums of four. The groups that have
// high bytes come first: their sums are then shifted by a byte and carried on.
func (n *neon) dotTile(most int) {
	const row, weights = 16, 20
	n.fn("dotTileNEON", "rows int, groups int, lo *int8, lda int, b *uint8, list *uint32, listed int, high *int8, c *float32, ldc int, rowScale *float32, colScale *float32, bias *float32", "")
	n.args("rows", "R0", "groups", "R1", "lo", "R2", "lda", "R3", "b", "R4", "list", "R5", "listed", "R6", "high", "R7",
		"c", "R8", "ldc", "R9", "rowScale", "R10", "colScale", "R11", "bias", "R12")
	n.bits(31, topBits)
	for rows := 1; rows < most; rows++ {
		n.p("CMP $%d, R0", rows)
		n.p("BEQ rows%d", rows)
	}
	for rows := most; rows > 0; rows-- {
		n.p("rows%d:", rows)
		ptr := func(r int) string { return fmt.Sprint("R", 19+r) }
		low, highs, loop := n.label("low"), n.label("highs"), n.label("loop")
		for i := range 4 * rows {
			n.zero(i)
		}
		n.p("CBZ R6, %s", low)
		n.p("%s:", highs)
		n.p("MOVWU.P 4(R5), R13")
		n.p("ADD R13, R4, R13")
		n.weightsAt("R13", weights)
		n.p("MOVD R7, R13")
		for r := range rows {
			n.p("VLD1R.P 4(R13), [V%d.S4]", row+r)
			for j := range 4 {
				n.op3("SDOT", 4*r+j, weights+j, row+r)
			}
		}
		n.p("ADD $%d, R7", groupK*most)
		n.p("SUBS $1, R6, R6")
		n.p("BNE %s", highs)
		for i := range 4 * rows {
			n.shl(i, i, 8)
		}
		n.p("%s:", low)
		n.p("MOVD R2, %s", ptr(0))
		for r := 1; r < rows; r++ {
			n.p("ADD R3, %s, %s", ptr(r-1), ptr(r))
		}
		n.p("%s:", loop)
		for r := range rows {
			n.p("FMOVQ.P 16(%s), F%d", ptr(r), row+r)
		}
		for l := range 4 {
			n.weightsAt("R4", weights)
			n.p("ADD $64, R4")
			for r := range rows {
				for j := range 4 {
					n.byLane("SDOT", 4*r+j, weights+j, row+r, l)
				}
			}
		}
		n.p("SUBS $4, R1, R1")
		n.p("BNE %s", loop)
		for r := range rows {
			n.finishRow(4 * r)
		}
		n.ret()
	}
}

// finishRow makes numbers of a row's four registers of sums and moves c and the row's scale on. Registers 16 to 24 are
// lost.
func (n *neon) finishRow(sums int) {
	n.p("VLD1R.P 4(R10), [V16.S4]")
	for j := range 4 {
		n.load("R11", 16*j, 17)
		n.load("R12", 16*j, 18)
		n.op3("FMUL", 17, 17, 16)
		n.op2("SCVTF", sums+j, sums+j)
		n.op3("FMLA", 18, sums+j, 17)
		n.store(18, "R8", 16*j)
	}
	n.p("ADD R9, R8, R8")
}

// wideTile is a row of 16-bit numbers by 16 columns, for CPUs without SDOT: a register holds the four sums of a column.
func (n *neon) wideTile() {
	const row, weights, columns = 16, 20, 24
	n.fn("wideTileNEON", "groups int, wide *int16, b *uint8, c *float32, rowScale *float32, colScale *float32, bias *float32", "")
	n.args("groups", "R1", "wide", "R2", "b", "R4", "c", "R8", "rowScale", "R10", "colScale", "R11", "bias", "R12")
	n.bits(31, topBits)
	for i := range 16 {
		n.zero(i)
	}
	n.p("loop:")
	n.p("VLD1R.P 8(R2), [V%d.D2]", row)
	n.weightsAt("R4", weights)
	n.p("ADD $64, R4")
	for j := range 4 {
		n.op2("SXTL.8H", columns, weights+j)
		n.op2("SXTL2.8H", columns+1, weights+j)
		n.op3("SMLAL.4H", 4*j, columns, row)
		n.op3("SMLAL2.8H", 4*j+1, columns, row)
		n.op3("SMLAL.4H", 4*j+2, columns+1, row)
		n.op3("SMLAL2.8H", 4*j+3, columns+1, row)
	}
	n.p("SUBS $1, R1, R1")
	n.p("BNE loop")
	for j := range 4 {
		n.op3("ADDP", 4*j, 4*j, 4*j+1)
		n.op3("ADDP", 4*j+2, 4*j+2, 4*j+3)
		n.op3("ADDP", j, 4*j, 4*j+2)
	}
	n.p("MOVD ZR, R9")
	n.finishRow(0)
	n.ret()
}
