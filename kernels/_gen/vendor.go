package main

// vendor writes the question who made the CPU. (CPUID leaf 0, whose answer begins in EBX.)
func vendor(a *asm) {
	a.isa = avx2 // no matter
	a.fn("vendor", "", "first uint32")
	a.p("XORL AX, AX")
	a.p("XORL CX, CX")
	a.p("CPUID")
	a.p("MOVL BX, %s", a.arg("first"))
	a.p("RET")
}
