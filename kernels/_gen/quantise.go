package main

func quantise(a *asm) {
	a.both(a.absSums)
	a.both(a.toInt16)
	a.both(a.splitBytes)
	a.both(a.highMasks)
}

// absSums finds the greatest magnitude and the sum of all of n elements, a multiple of 32. Every tier adds in the same 32 lanes and
// folds them in the same order, so that all find the same scale.
func (a *asm) absSums() {
	vectors := 32 / a.lanes
	a.fn("absSums"+a.name, "x *float32, n int", "most float32, sum float32")
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	mask, x := a.reg(8), a.reg(9)
	a.fill(absMask, mask)
	for i := range 2 * vectors {
		a.zero(a.reg(i))
	}
	loop := a.label("loop")
	a.p("%s:", loop)
	for i := range vectors {
		a.p("VANDPS %d(SI), %s, %s", i*a.bytes, mask, x)
		a.p("VMAXPS %s, %s, %s", a.reg(i), x, a.reg(i))
		a.p("VADDPS %s, %s, %s", x, a.reg(vectors+i), a.reg(vectors+i))
	}
	a.p("ADDQ $128, SI")
	a.p("SUBQ $32, CX")
	a.p("JNZ %s", loop)
	a.reduce("ADD", vectors, vectors, 9)
	a.p("VMOVSS X%d, %s", vectors, a.arg("sum"))
	a.reduce("MAX", 0, vectors, 9)
	a.p("VMOVSS X0, %s", a.arg("most"))
	a.ret()
}

// toInt16 rounds to the nearest integer, the even one of two, and sums what it stores.
func (a *asm) toInt16() {
	a.fn("toInt16"+a.name, "dst *int16, x *float32, n int, scale float32", "sum int32")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.p("VBROADCASTSS %s, %s", a.arg("scale"), a.reg(8))
	a.zero(a.reg(0))
	loop, done := a.label("loop"), a.label("done")
	step := 16
	a.p("%s:", loop)
	a.p("SUBQ $%d, CX", step)
	a.p("JLT %s", done)
	for i := range step / a.lanes {
		x := a.reg(1 + i)
		a.p("VMULPS %d(SI), %s, %s", i*a.bytes, a.reg(8), x)
		a.p("VCVTPS2DQ %s, %s", x, x)
		a.p("VPADDD %s, %s, %s", x, a.reg(0), a.reg(0))
	}
	if a.wide() {
		a.p("VPMOVDW Z1, (DI)")
	} else {
		a.p("VPACKSSDW Y2, Y1, Y1")
		a.p("VPERMQ $0xd8, Y1, Y1")
		a.p("VMOVDQU Y1, (DI)")
	}
	a.p("ADDQ $64, SI")
	a.p("ADDQ $32, DI")
	a.p("JMP %s", loop)
	a.p("%s:", done)
	a.reduceInt(0, 1)
	a.p("VMOVD X0, AX")
	a.p("MOVL AX, %s", a.arg("sum"))
	a.ret()
}

// reduceInt folds the lanes of a register of 32-bit integers to its first.
func (a *asm) reduceInt(r, tmp int) {
	if a.wide() {
		a.p("VEXTRACTI64X4 $1, Z%d, Y%d", r, tmp)
		a.p("VPADDD Y%d, Y%d, Y%d", tmp, r, r)
	}
	a.p("VEXTRACTI128 $1, Y%d, X%d", r, tmp)
	a.p("VPADDD X%d, X%d, X%d", tmp, r, r)
	for _, order := range []int{0x4e, 0xb1} {
		a.p("VPSHUFD $%#x, X%d, X%d", order, r, tmp)
		a.p("VPADDD X%d, X%d, X%d", tmp, r, r)
	}
}

// splitBytes takes numbers apart, q = 256*hi + lo with lo in [-128, 127], a register of AVX2 at a time, and reports whether any hi
// is not zero.
func (a *asm) splitBytes() {
	a.fn("splitBytes"+a.name, "lo *int8, hi *int8, q *int16, n int", "any int32")
	a.p("MOVQ %s, DI", a.arg("lo"))
	a.p("MOVQ %s, DX", a.arg("hi"))
	a.p("MOVQ %s, SI", a.arg("q"))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.p("VPCMPEQW Y8, Y8, Y8") // 128 in every word
	a.p("VPSRLW $15, Y8, Y8")
	a.p("VPSLLW $7, Y8, Y8")
	a.p("VPCMPEQW Y9, Y9, Y9") // 255 in every word
	a.p("VPSRLW $8, Y9, Y9")
	a.p("VPXOR Y10, Y10, Y10")
	loop, done := a.label("loop"), a.label("done")
	a.p("%s:", loop)
	a.p("SUBQ $16, CX")
	a.p("JLT %s", done)
	a.p("VMOVDQU (SI), Y0")
	a.p("VPADDW Y8, Y0, Y1")
	a.p("VPSRAW $8, Y1, Y1")
	a.p("VPOR Y1, Y10, Y10")
	if a.wide() {
		a.p("VPMOVWB Y0, (DI)")
		a.p("VPMOVWB Y1, (DX)")
	} else {
		a.p("VPAND Y9, Y0, Y0")
		a.p("VEXTRACTI128 $1, Y0, X2")
		a.p("VPACKUSWB X2, X0, X0")
		a.p("VMOVDQU X0, (DI)")
		a.p("VEXTRACTI128 $1, Y1, X2")
		a.p("VPACKSSWB X2, X1, X1")
		a.p("VMOVDQU X1, (DX)")
	}
	a.p("ADDQ $32, SI")
	a.p("ADDQ $16, DI")
	a.p("ADDQ $16, DX")
	a.p("JMP %s", loop)
	a.p("%s:", done)
	a.p("XORL AX, AX")
	a.p("VPTEST Y10, Y10")
	a.p("SETNE AX")
	a.p("MOVL AX, %s", a.arg("any"))
	a.ret()
}

// highMasks sets bit g of masks where any row's four bytes at 4g are not all zero. n is a multiple of 32, rows above 0.
func (a *asm) highMasks() {
	a.fn("highMasks"+a.name, "masks *uint8, hi *int8, ld int, rows int, n int", "")
	a.p("MOVQ %s, DI", a.arg("masks"))
	a.p("MOVQ %s, SI", a.arg("hi"))
	a.p("MOVQ %s, R8", a.arg("ld"))
	a.p("MOVQ %s, CX", a.arg("n"))
	a.p("VPXOR Y2, Y2, Y2")
	loop, row := a.label("loop"), a.label("row")
	a.p("%s:", loop)
	a.p("MOVQ SI, R9")
	a.p("MOVQ %s, R10", a.arg("rows"))
	a.p("VPXOR Y0, Y0, Y0")
	a.p("%s:", row)
	a.p("VPOR (R9), Y0, Y0")
	a.p("ADDQ R8, R9")
	a.p("DECQ R10")
	a.p("JNZ %s", row)
	if a.wide() {
		a.p("VPTESTMD Y0, Y0, K1")
		a.p("KMOVB K1, AX")
	} else {
		a.p("VPCMPEQD Y2, Y0, Y0")
		a.p("VMOVMSKPS Y0, AX")
		a.p("XORL $0xff, AX")
	}
	a.p("MOVB AX, (DI)")
	a.p("INCQ DI")
	a.p("ADDQ $32, SI")
	a.p("SUBQ $32, CX")
	a.p("JNZ %s", loop)
	a.ret()
}
