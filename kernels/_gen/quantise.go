package main

func quantise(a *asm) {
	a.both(a.absSums)
	a.both(a.toInt16)
	a.both(a.toBytes)
	a.both(a.highMasks)
	a.both(a.columnsMax)
	a.both(a.packGroups)
}

// absSums finds the greatest magnitude and the sum of all of n elements, a multiple of 32. Every tier adds in the same
// 32 lanes and folds them in the same order, so that all find the same scale.
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

var (
	// joinWords puts the words that VPACKSSDW made of two AVX-512 registers in their order, quadwords being counted.
	joinWords = constant{"joinWords", []uint32{0, 0, 2, 0, 4, 0, 6, 0, 1, 0, 3, 0, 5, 0, 7, 0}}
	// joinBytes puts the bytes that VPACKSSDW and then VPACKUSWB made of four AVX2 registers in their order,
	// doublewords being counted.
	joinBytes = constant{"joinBytes", []uint32{0, 4, 1, 5, 2, 6, 3, 7}}
)

// prefetchNext asks for the next 128 bytes from R8 on, where the next row lies: this one is in the first-level cache by
// now, and memory idle.
func (a *asm) prefetchNext() {
	a.p("PREFETCHT0 (R8)")
	a.p("PREFETCHT0 64(R8)")
	a.p("ADDQ $128, R8")
}

// toBytes rounds as toInt16 does and takes the numbers apart, q = 256*hi + lo with lo in [-128, 127]. It sums the
// numbers and reports whether any hi is not zero.
func (a *asm) toBytes() {
	a.fn("toBytes"+a.name, "lo *int8, hi *int8, x *float32, n int, scale float32", "sum int32, any int32")
	a.p("MOVQ %s, DI", a.arg("lo"))
	a.p("MOVQ %s, DX", a.arg("hi"))
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, CX", a.arg("n"))
	scale, sum, any, half, order := a.reg(8), a.reg(9), a.reg(10), a.reg(11), a.reg(12)
	a.p("VBROADCASTSS %s, %s", a.arg("scale"), scale)
	a.p("LEAQ (SI)(CX*4), R8")
	a.zero(sum)
	a.zero(any)
	a.fill(bits("words128", 0x00800080), half)
	if a.wide() {
		a.use(joinWords)
		a.p("VMOVDQU64 joinWords<>(SB), %s", order)
	} else {
		a.use(joinBytes)
		a.p("VMOVDQU joinBytes<>(SB), %s", order)
		a.fill(bits("words255", 0x00ff00ff), a.reg(13))
	}
	loop := a.label("loop")
	a.p("%s:", loop)
	a.prefetchNext()
	vectors := 32 / a.lanes
	for i := range vectors {
		x := a.reg(i)
		a.p("VMULPS %d(SI), %s, %s", i*a.bytes, scale, x)
		a.p("VCVTPS2DQ %s, %s", x, x)
		a.p("VPADDD %s, %s, %s", x, sum, sum)
	}
	for i := range vectors / 2 {
		a.p("VPACKSSDW %s, %s, %s", a.reg(2*i+1), a.reg(2*i), a.reg(i))
	}
	if a.wide() {
		a.p("VPERMQ Z0, %s, Z0", order)
		a.p("VPADDW %s, Z0, Z1", half)
		a.p("VPSRAW $8, Z1, Z1")
		a.p("VPORQ Z1, %s, %s", any, any)
		a.p("VPMOVWB Z0, (DI)")
		a.p("VPMOVWB Z1, (DX)")
	} else {
		for i := range 2 {
			a.p("VPADDW %s, Y%d, Y%d", half, i, 2+i)
			a.p("VPSRAW $8, Y%d, Y%d", 2+i, 2+i)
			a.p("VPOR Y%d, %s, %s", 2+i, any, any)
			a.p("VPAND Y13, Y%d, Y%d", i, i)
		}
		a.p("VPACKUSWB Y1, Y0, Y0")
		a.p("VPACKSSWB Y3, Y2, Y2")
		for i, ptr := range []string{"DI", "DX"} {
			a.p("VPERMD Y%d, %s, Y%d", 2*i, order, 2*i)
			a.p("VMOVDQU Y%d, (%s)", 2*i, ptr)
		}
	}
	a.p("ADDQ $128, SI")
	a.p("ADDQ $32, DI")
	a.p("ADDQ $32, DX")
	a.p("SUBQ $32, CX")
	a.p("JNZ %s", loop)
	a.reduceInt(9, 0)
	a.p("VMOVD X9, AX")
	a.p("MOVL AX, %s", a.arg("sum"))
	a.p("XORL AX, AX")
	if a.wide() {
		a.p("VPTESTMD %s, %s, K1", any, any)
		a.p("KORTESTW K1, K1")
	} else {
		a.p("VPTEST %s, %s", any, any)
	}
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

// columnsMax raises most, 16 columns, to the magnitudes in rows rows of x.
func (a *asm) columnsMax() {
	vectors := 16 / a.lanes
	a.fn("columnsMax"+a.name, "most *float32, x *float32, ldx int, rows int", "")
	a.p("MOVQ %s, DI", a.arg("most"))
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, R8", a.arg("ldx"))
	a.p("MOVQ %s, CX", a.arg("rows"))
	mask := a.reg(8)
	a.fill(absMask, mask)
	for i := range vectors {
		a.p("VMOVUPS %d(DI), %s", i*a.bytes, a.reg(i))
	}
	loop := a.label("loop")
	a.p("%s:", loop)
	for i := range vectors {
		a.p("VANDPS %d(SI), %s, %s", i*a.bytes, mask, a.reg(4+i))
		a.p("VMAXPS %s, %s, %s", a.reg(i), a.reg(4+i), a.reg(i))
	}
	a.p("ADDQ R8, SI")
	a.p("DECQ CX")
	a.p("JNZ %s", loop)
	for i := range vectors {
		a.p("VMOVUPS %s, %d(DI)", a.reg(i), i*a.bytes)
	}
	a.ret()
}

// packGroups rounds 16 columns of four rows at a time, each column times its scale, and puts a column's four bytes side
// by side.
func (a *asm) packGroups() {
	vectors := 16 / a.lanes
	a.fn("packGroups"+a.name, "dst *uint8, x *float32, ldx int, groups int, scale *float32", "")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, SI", a.arg("x"))
	a.p("MOVQ %s, R8", a.arg("ldx"))
	a.p("MOVQ %s, CX", a.arg("groups"))
	a.p("MOVQ %s, BX", a.arg("scale"))
	offset := a.reg(8)
	a.fill(bits("bytes128", 0x80808080), offset)
	for i := range vectors {
		a.p("VMOVUPS %d(BX), %s", i*a.bytes, a.reg(9+i))
	}
	loop := a.label("loop")
	a.p("%s:", loop)
	for r := range 4 {
		for i := range vectors {
			x, sum := a.reg(2+i), a.reg(i)
			if r == 0 {
				x = sum
			}
			a.p("VMULPS %d(SI), %s, %s", i*a.bytes, a.reg(9+i), x)
			a.p("VCVTPS2DQ %s, %s", x, x)
			if r > 0 {
				a.p("VPSLLD $%d, %s, %s", 8*r, x, x)
				a.p("VPADDD %s, %s, %s", x, sum, sum)
			}
		}
		a.p("ADDQ R8, SI")
	}
	for i := range vectors {
		a.p("VPADDD %s, %s, %s", offset, a.reg(i), a.reg(i))
		a.p("VMOVUPS %s, %d(DI)", a.reg(i), i*a.bytes)
	}
	a.p("ADDQ $64, DI")
	a.p("DECQ CX")
	a.p("JNZ %s", loop)
	a.ret()
}
