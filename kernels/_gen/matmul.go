package main

import "fmt"

func matmul(a *asm) {
	for _, b := range []format{floatRows, halfRows} {
		a.isa = avx2
		a.tile(6, b)
		a.isa = avx512
		a.tile(12, b)
	}
	a.tile(12, pairRows)
	a.isa = avx2
	a.tileHalfFew()
}

// format is how the numbers of a packed panel are stored.
type format struct {
	name   string // in the kernel's
	x      string // the type of a row of a's elements, 4 bytes each
	goType string
	row    int // bytes of a panel's row
}

var (
	floatRows = format{"tile", "float32", "float32", 64}
	halfRows  = format{"tileHalf", "float32", "uint16", 32}
	pairRows  = format{"tilePairs", "uint32", "uint32", 64} // of two bfloat16: a k of it is two of the product's
)

// loadRow loads one register of numbers of a panel as float32.
func (a *asm) loadRow(f format, at, dst string) {
	if f == halfRows {
		a.p("VCVTPH2PS %s, %s", at, dst)
	} else {
		a.p("VMOVUPS %s, %s", at, dst)
	}
}

// tile writes the inner kernel of every product: c[i][0:2 vectors] (+)= the sum over k of a[i][k]*b[k], for m rows in
// strips of at most most rows, each with its sums in registers. The two vectors of b are the halves of one panel (AVX2)
// or the rows of two (AVX-512). Strides are in bytes. a and m serve as variables.
//
// What lies ahead bytes further on in b is asked for in advance, to the second-level cache: the hardware looks no
// further than a page, and the arithmetic fills the window in which the CPU itself would run ahead.
//
// A strip of any height adds in the same order, one multiply-add per k, so a row's bits don't depend on the strip it
// falls in.
func (a *asm) tile(most int, f format) {
	a.fn(f.name+a.name, "m int, k int, a *"+f.x+", lda int, b *"+f.goType+", ldb int, c *float32, ldc int, ahead int, accumulate bool", "")
	a.p("MOVQ %s, R8", a.arg("lda"))
	a.p("MOVQ %s, R13", a.arg("ldc"))
	a.p("MOVQ %s, DX", a.arg("c"))
	name := func(rows int) string { return fmt.Sprintf("rows%d", rows) }

	// Between one strip and two, two of equal height run faster than a full one and a low one: a low one waits for its
	// own sums.
	a.p("next:")
	a.p("MOVQ %s, AX", a.arg("m"))
	a.p("CMPQ AX, $%d", 2*most)
	a.p("JGE %s", name(most))
	a.p("CMPQ AX, $%d", most)
	a.p("JLE choose")
	a.p("INCQ AX")
	a.p("SHRQ $1, AX")
	a.p("choose:")
	for rows := most; rows > 0; rows-- {
		a.p("CMPQ AX, $%d", rows)
		a.p("JEQ %s", name(rows))
	}
	a.ret()
	for rows := most; rows > 0; rows-- {
		a.p("%s:", name(rows))
		a.strip(rows, f)
		a.p("JMP next")
	}
}

// strip computes rows rows and moves a, c and m past them.
func (a *asm) strip(rows int, f format) {
	store, odd, ready := a.label("store"), a.label("odd"), a.label("ready")
	a.p("MOVQ %s, CX", a.arg("k"))
	a.p("MOVQ %s, SI", a.arg("a"))
	a.p("MOVQ %s, DI", a.arg("b"))
	a.p("MOVQ %s, BX", a.arg("ldb"))
	a.p("ADDQ DI, BX")
	bases := []string{"SI", "R9", "R10", "R11"}[:(rows+2)/3]
	if len(bases) > 1 {
		a.p("LEAQ (R8)(R8*2), R12")
	}
	for i := 1; i < len(bases); i++ {
		a.p("LEAQ (%s)(R12*1), %s", bases[i-1], bases[i])
	}
	sum := func(r, j int) string { return a.reg(2*r + j) }
	for r := range rows {
		a.zero(sum(r, 0))
		a.zero(sum(r, 1))
	}
	a.p("CMPB %s, $0", a.arg("accumulate"))
	a.p("JEQ %s", ready)
	a.eachC(rows, func(r, j int) { a.p("VMOVUPS %d(AX), %s", j*a.bytes, sum(r, j)) })
	a.p("%s:", ready)

	a.p("MOVQ %s, AX", a.arg("ahead"))
	const unroll = 4
	step := func(n int) {
		loop := a.label("loop")
		a.p("PCALIGN $32")
		a.p("%s:", loop)
		for u := range n {
			a.multiplyAdd(rows, u, f, bases, sum)
		}
		for _, b := range bases {
			a.p("ADDQ $%d, %s", 4*n, b)
		}
		a.p("ADDQ $%d, DI", f.row*n)
		if a.wide() {
			a.p("ADDQ $%d, BX", f.row*n)
		}
		a.p("DECQ CX")
		a.p("JNZ %s", loop)
	}
	a.p("SHRQ $2, CX")
	a.p("JEQ %s", odd)
	step(unroll)
	a.p("%s:", odd)
	a.p("MOVQ %s, CX", a.arg("k"))
	a.p("ANDQ $%d, CX", unroll-1)
	a.p("JEQ %s", store)
	step(1)
	a.p("%s:", store)
	a.eachC(rows, func(r, j int) { a.p("VMOVUPS %s, %d(AX)", sum(r, j), j*a.bytes) })
	a.p("MOVQ AX, DX")
	a.p("ADDQ R13, DX")
	a.p("IMUL3Q $%d, R8, AX", rows)
	a.p("ADDQ AX, %s", a.arg("a"))
	a.p("SUBQ $%d, %s", rows, a.arg("m"))
}

// eachC visits the tile of c with AX on the row.
func (a *asm) eachC(rows int, visit func(r, j int)) {
	a.p("MOVQ DX, AX")
	for r := range rows {
		visit(r, 0)
		visit(r, 1)
		if r < rows-1 {
			a.p("ADDQ R13, AX")
		}
	}
}

// multiplyAdd adds the products for the u-th k of the unrolled loop, of two k where they come in pairs.
func (a *asm) multiplyAdd(rows, u int, f format, bases []string, sum func(r, j int) string) {
	b0, b1 := a.reg(12), a.reg(13)
	x := []string{a.reg(14), a.reg(15)}
	at := u * f.row
	if a.wide() {
		b0, b1 = a.reg(24), a.reg(25)
		x = []string{a.reg(26), a.reg(27), a.reg(28), a.reg(29)}
		a.loadRow(f, fmt.Sprintf("%d(BX)", at), b1)
	} else {
		a.loadRow(f, fmt.Sprintf("%d(DI)", at+f.row/2), b1)
	}
	a.loadRow(f, fmt.Sprintf("%d(DI)", at), b0)
	if at%64 == 0 {
		a.p("PREFETCHT1 %d(DI)(AX*1)", at)
		if a.wide() {
			a.p("PREFETCHT1 %d(BX)(AX*1)", at)
		}
	}
	for r := range rows {
		at := fmt.Sprintf("%d(%s)", 4*u, bases[r/3])
		if r%3 > 0 {
			at += fmt.Sprintf("(R8*%d)", r%3)
		}
		v := x[r%len(x)]
		a.p("VBROADCASTSS %s, %s", at, v)
		for j, b := range []string{b0, b1} {
			if f == pairRows {
				a.dotPairs(b, v, sum(r, j))
			} else {
				a.p("VFMADD231PS %s, %s, %s", b, v, sum(r, j))
			}
		}
	}
}

// fewRows is the most rows of tileHalfFew.
const fewRows = 3

// tileHalfFew is tileHalf for at most fewRows rows and both panels of a tile at once: of so few rows one panel has too
// few sums to add to while each waits for its last addition, and memory would wait with them.
func (a *asm) tileHalfFew() {
	a.fn("tileHalfFewAVX2", "m int, k int, a *float32, lda int, b *uint16, ldb int, c *float32, ldc int, ahead int, accumulate bool", "")
	a.p("MOVQ %s, SI", a.arg("a"))
	a.p("MOVQ %s, R8", a.arg("lda"))
	a.p("MOVQ %s, DI", a.arg("b"))
	a.p("MOVQ %s, BX", a.arg("ldb"))
	a.p("ADDQ DI, BX")
	a.p("MOVQ %s, DX", a.arg("c"))
	a.p("MOVQ %s, R13", a.arg("ldc"))
	a.p("MOVQ %s, R10", a.arg("ahead"))
	a.p("MOVQ %s, AX", a.arg("m"))
	for rows := fewRows; rows > 0; rows-- {
		next := a.label("rows")
		a.p("CMPQ AX, $%d", rows)
		a.p("JNE %s", next)
		a.fewStrip(rows)
		a.ret()
		a.p("%s:", next)
	}
	a.ret()
}

// fewStrip computes rows rows, four registers of sums each.
func (a *asm) fewStrip(rows int) {
	ready, odd, store := a.label("ready"), a.label("odd"), a.label("store")
	eachC := func(visit func(at, sum string)) {
		a.p("MOVQ DX, AX")
		for r := range rows {
			for j := range 4 {
				visit(fmt.Sprintf("%d(AX)", 32*j), a.reg(4*r+j))
			}
			if r < rows-1 {
				a.p("ADDQ R13, AX")
			}
		}
	}
	for i := range 4 * rows {
		a.zero(a.reg(i))
	}
	a.p("CMPB %s, $0", a.arg("accumulate"))
	a.p("JEQ %s", ready)
	eachC(func(at, sum string) { a.p("VMOVUPS %s, %s", at, sum) })
	a.p("%s:", ready)
	const unroll = 4
	step := func(n int) {
		loop := a.label("loop")
		a.p("PCALIGN $32")
		a.p("%s:", loop)
		for u := range n {
			for r, at := range []string{"(SI)", "(SI)(R8*1)", "(SI)(R8*2)"}[:rows] {
				a.p("VBROADCASTSS %d%s, Y%d", 4*u, at, 13+r)
			}
			for j, panel := range []string{"DI", "DI", "BX", "BX"} {
				at := u*halfRows.row + j%2*16
				if at%64 == 0 {
					a.p("PREFETCHT1 %d(%s)(R10*1)", at, panel)
				}
				a.loadRow(halfRows, fmt.Sprintf("%d(%s)", at, panel), "Y12")
				for r := range rows {
					a.p("VFMADD231PS Y12, Y%d, %s", 13+r, a.reg(4*r+j))
				}
			}
		}
		a.p("ADDQ $%d, SI", 4*n)
		a.p("ADDQ $%d, DI", halfRows.row*n)
		a.p("ADDQ $%d, BX", halfRows.row*n)
		a.p("DECQ CX")
		a.p("JNZ %s", loop)
	}
	a.p("MOVQ %s, CX", a.arg("k"))
	a.p("SHRQ $2, CX")
	a.p("JEQ %s", odd)
	step(unroll)
	a.p("%s:", odd)
	a.p("MOVQ %s, CX", a.arg("k"))
	a.p("ANDQ $%d, CX", unroll-1)
	a.p("JEQ %s", store)
	step(1)
	a.p("%s:", store)
	eachC(func(at, sum string) { a.p("VMOVUPS %s, %s", sum, at) })
}
