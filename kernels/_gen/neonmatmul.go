package main

import "fmt"

func neonMatmul(n *neon) {
	n.tile(6, false)
	n.tile(6, true)
}

// tile is the inner kernel of every float32 product: c[i][0:16] (+)= the sum over k of a[i][k]*b[k], for m rows in
// strips of at most most rows, each with its four registers of sums. Strides are in bytes. Every sum is one chain of
// multiply-adds over ascending k, whatever strip it falls in. Where b holds halves they are widened on the way.
func (n *neon) tile(most int, halves bool) {
	name, b := "tileNEON", "b *float32"
	if halves {
		name, b = "tileHalfNEON", "b *uint16"
	}
	n.fn(name, "m int, k int, a *float32, lda int, "+b+", c *float32, ldc int, accumulate bool", "")
	n.args("m", "R0", "a", "R2", "lda", "R3", "c", "R5", "ldc", "R6")
	n.p("MOVBU %s, R8", n.arg("accumulate"))
	n.p("next:")
	for rows := most; rows > 0; rows-- {
		n.p("CMP $%d, R0", rows)
		n.p("B%s rows%d", map[bool]string{true: "GE", false: "EQ"}[rows == most], rows)
	}
	n.ret()
	for rows := most; rows > 0; rows-- {
		n.p("rows%d:", rows)
		n.strip(rows, halves)
		n.p("B next")
	}
}

// strip computes rows rows and moves a, c and m past them. Sums are in registers 0 to 23, weights in 24 to 27, elements
// of a in 28 to 31.
func (n *neon) strip(rows int, halves bool) {
	const weights, elements = 24, 28
	row := func(r int) string { return fmt.Sprint("R", 19+r) }
	n.p("MOVD %s, R1", n.arg("k"))
	n.p("MOVD %s, R4", n.arg("b"))
	n.p("MOVD R2, %s", row(0))
	for r := 1; r < rows; r++ {
		n.p("ADD R3, %s, %s", row(r-1), row(r))
	}
	ready, loop, odd, store := n.label("ready"), n.label("loop"), n.label("odd"), n.label("store")
	for i := range 4 * rows {
		n.zero(i)
	}
	n.p("CBZ R8, %s", ready)
	n.eachC(rows, func(r int) {
		for j := range 4 {
			n.load("R7", 16*j, 4*r+j)
		}
	})
	n.p("%s:", ready)

	// Four k at once: a register holds four elements of a row.
	n.p("%s:", loop)
	n.p("CMP $4, R1")
	n.p("BLT %s", odd)
	if rows <= 4 {
		for r := range rows {
			n.load(row(r), 0, elements+r)
		}
		for l := range 4 {
			n.rowOfB(weights, halves)
			for r := range rows {
				n.addOuter(r, weights, elements+r, l)
			}
		}
		for r := range rows {
			n.p("ADD $16, %s", row(r))
		}
	} else {
		for range 4 {
			n.oneK(rows, row, weights, elements, halves)
		}
	}
	n.p("SUB $4, R1")
	n.p("B %s", loop)
	n.p("%s:", odd)
	n.p("CBZ R1, %s", store)
	n.oneK(rows, row, weights, elements, halves)
	n.p("SUB $1, R1")
	n.p("B %s", odd)

	n.p("%s:", store)
	n.eachC(rows, func(r int) {
		for j := range 4 {
			n.store(4*r+j, "R7", 16*j)
		}
	})
	n.p("ADD R6, R7, R5")
	n.p("ADD R3, R2, R2")
	for range rows - 1 {
		n.p("ADD R3, R2, R2")
	}
	n.p("SUB $%d, R0", rows)
}

// eachC visits the rows of c with R7 on each in turn.
func (n *neon) eachC(rows int, visit func(r int)) {
	n.p("MOVD R5, R7")
	for r := range rows {
		visit(r)
		if r < rows-1 {
			n.p("ADD R6, R7, R7")
		}
	}
}

// rowOfB reads the 16 weights of one k.
func (n *neon) rowOfB(weights int, halves bool) {
	if halves {
		n.p("FLDPQ (R4), (F%d, F%d)", weights+2, weights+3)
		n.p("ADD $32, R4")
		for i := range 2 {
			n.op2("FCVTL", weights+2*i, weights+2+i)
			n.op2("FCVTL2", weights+2*i+1, weights+2+i)
		}
		return
	}
	n.p("FLDPQ (R4), (F%d, F%d)", weights, weights+1)
	n.p("FLDPQ 32(R4), (F%d, F%d)", weights+2, weights+3)
	n.p("ADD $64, R4")
}

// oneK adds the products of one k.
func (n *neon) oneK(rows int, row func(int) string, weights, elements int, halves bool) {
	n.rowOfB(weights, halves)
	for r := range rows {
		e := elements + r%4
		n.p("FMOVS.P 4(%s), F%d", row(r), e)
		n.addOuter(r, weights, e, 0)
	}
}

// addOuter adds lane l of x times the weights to row r's sums.
func (n *neon) addOuter(r, weights, x, l int) {
	for j := range 4 {
		n.byLane("FMLA", 4*r+j, weights+j, x, l)
	}
}
