package main

import "slices"

// The mask of a vector tail: K1 in AVX-512, Y15 in AVX2.
const (
	tailK = "K1"
	tailY = "Y15"
)

// tailMask is eight words of ones and eight of zeros: what begins 4n bytes before its middle masks n lanes.
var tailMask = constant{"tailMask", append(slices.Repeat([]uint32{0xffffffff}, 8), make([]uint32, 8)...)}

// each walks n elements (a register) that the pointers in ptrs step through: body(v) is written for v vectors at once,
// v being unroll, then 1, then 1 with a.tail set for what is left. AX is lost, n becomes 0 or garbage.
func (a *asm) each(n string, ptrs []string, unroll int, body func(vectors int)) {
	step := func(v int) {
		loop, done := a.label("loop"), a.label("done")
		a.p("SUBQ $%d, %s", v*a.lanes, n)
		a.p("JLT %s", done)
		a.p("%s:", loop)
		body(v)
		for _, r := range ptrs {
			a.p("ADDQ $%d, %s", v*a.bytes, r)
		}
		a.p("SUBQ $%d, %s", v*a.lanes, n)
		a.p("JGE %s", loop)
		a.p("%s:", done)
		a.p("ADDQ $%d, %s", v*a.lanes, n)
	}
	if unroll > 1 {
		step(unroll)
	}
	step(1)
	end := a.label("end")
	a.p("JEQ %s", end)
	a.mask(n)
	a.tail = true
	body(1)
	a.tail = false
	a.p("%s:", end)
}

// mask makes the tail mask for the first n lanes, 0 < n < lanes.
func (a *asm) mask(n string) {
	if a.wide() {
		a.p("MOVL $-1, AX")
		a.p("BZHIL %s, AX, AX", n)
		a.p("KMOVW AX, %s", tailK)
		return
	}
	a.use(tailMask)
	a.p("LEAQ tailMask<>+32(SB), AX")
	a.p("SHLQ $2, %s", n)
	a.p("SUBQ %s, AX", n)
	a.p("VMOVUPS (AX), %s", tailY)
}

// load reads the vector at ptr+off, zero in the lanes beyond a tail. store leaves the memory beyond alone.
func (a *asm) load(ptr string, off int, dst string) {
	switch {
	case !a.tail:
		a.p("VMOVUPS %d(%s), %s", off, ptr, dst)
	case a.wide():
		a.p("VMOVUPS.Z %d(%s), %s, %s", off, ptr, tailK, dst)
	default:
		a.p("VMASKMOVPS %d(%s), %s, %s", off, ptr, tailY, dst)
	}
}

func (a *asm) store(src, ptr string, off int) {
	switch {
	case !a.tail:
		a.p("VMOVUPS %s, %d(%s)", src, off, ptr)
	case a.wide():
		a.p("VMOVUPS %s, %s, %d(%s)", src, tailK, off, ptr)
	default:
		a.p("VMASKMOVPS %s, %s, %d(%s)", src, tailY, off, ptr)
	}
}

// clip zeroes the lanes beyond a tail, so that they add nothing to a sum.
func (a *asm) clip(r string) {
	switch {
	case !a.tail:
	case a.wide():
		a.p("VMOVUPS.Z %s, %s, %s", r, tailK, r)
	default:
		a.p("VANDPS %s, %s, %s", tailY, r, r)
	}
}

// reduce folds n accumulators, registers first to first+n-1, and then their lanes by op, ADD or MAX, always in the same
// order. The result is in lane 0 of X<first>. tmp is a register number that is lost.
func (a *asm) reduce(op string, first, n, tmp int) {
	for ; n > 1; n /= 2 {
		for i := range n / 2 {
			a.p("V%sPS %s, %s, %s", op, a.reg(first+i+n/2), a.reg(first+i), a.reg(first+i))
		}
	}
	if a.wide() {
		a.p("VEXTRACTF64X4 $1, Z%d, Y%d", first, tmp)
		a.p("V%sPS Y%d, Y%d, Y%d", op, tmp, first, first)
	}
	a.p("VEXTRACTF128 $1, Y%d, X%d", first, tmp)
	a.p("V%sPS X%d, X%d, X%d", op, tmp, first, first)
	for _, order := range []int{0x4e, 0xb1} {
		a.p("VPERMILPS $%#x, X%d, X%d", order, first, tmp)
		a.p("V%sPS X%d, X%d, X%d", op, tmp, first, first)
	}
}

// both writes a kernel for AVX2 and then for AVX-512.
func (a *asm) both(emit func()) {
	for _, s := range []*isa{avx2, avx512} {
		a.isa = s
		emit()
	}
}
