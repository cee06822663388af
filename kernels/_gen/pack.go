package main

// pack writes the transposition of 16 rows to panels, eight rows and eight columns at a time. AVX-512 has no need of
// another.
func pack(a *asm) {
	a.isa = avx2
	a.fn("packPanelAVX2", "dst *float32, src *float32, ld int, blocks int", "")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, SI", a.arg("src"))
	a.p("MOVQ %s, R8", a.arg("ld"))
	a.p("MOVQ %s, CX", a.arg("blocks"))
	a.p("LEAQ (R8)(R8*2), R9")
	a.p("loop:")
	a.p("MOVQ SI, AX")
	for half := range 2 {
		for r, at := range []string{"(AX)", "(AX)(R8*1)", "(AX)(R8*2)", "(AX)(R9*1)"} {
			a.p("VMOVUPS %s, Y%d", at, r)
		}
		a.p("LEAQ (AX)(R8*4), AX")
		for r, at := range []string{"(AX)", "(AX)(R8*1)", "(AX)(R8*2)", "(AX)(R9*1)"} {
			a.p("VMOVUPS %s, Y%d", at, 4+r)
		}
		a.p("LEAQ (AX)(R8*4), AX")
		a.transpose8()
		for r := range 8 {
			a.p("VMOVUPS Y%d, %d(DI)", r, 64*r+32*half)
		}
	}
	a.p("ADDQ $32, SI")
	a.p("ADDQ $512, DI")
	a.p("DECQ CX")
	a.p("JNZ loop")
	a.ret()
}

// transpose8 transposes the 8 x 8 block in Y0 to Y7, using Y8 to Y15.
func (a *asm) transpose8() {
	for i := 0; i < 8; i += 2 { // pairs of rows: a0 b0 a1 b1 | a4 b4 a5 b5
		a.p("VUNPCKLPS Y%d, Y%d, Y%d", i+1, i, 8+i)
		a.p("VUNPCKHPS Y%d, Y%d, Y%d", i+1, i, 9+i)
	}
	for i := 0; i < 8; i += 4 { // columns of four rows: a0 b0 c0 d0 | a4 b4 c4 d4
		for j := range 2 {
			a.p("VUNPCKLPD Y%d, Y%d, Y%d", 8+i+j+2, 8+i+j, i+2*j)
			a.p("VUNPCKHPD Y%d, Y%d, Y%d", 8+i+j+2, 8+i+j, i+2*j+1)
		}
	}
	for i := range 4 { // join the halves of rows 0-3 and 4-7
		a.p("VPERM2F128 $0x20, Y%d, Y%d, Y%d", 4+i, i, 8+i)
		a.p("VPERM2F128 $0x31, Y%d, Y%d, Y%d", 4+i, i, 12+i)
	}
	for i := range 8 {
		a.p("VMOVAPS Y%d, Y%d", 8+i, i)
	}
}
