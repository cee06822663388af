package main

import "fmt"

// bf16 writes the conversions of panels between two rows of 16 float32 and a row of 16 pairs of bfloat16, of which the
// first row's number is in the low half, and that of a row of x to pairs.
func bf16(a *asm) {
	a.isa = avx2
	a.toPairs()
	a.both(a.fromPairs)
	a.isa = avx512
	a.roundPairs()
}

var (
	highHalf = bits("highHalf", 0xffff0000)
	oneBit   = bits("oneBit", 1)
	halfBit  = bits("halfBit", 0x7fff) // and one more if the result would be odd
	quietBit = bits("quietBit", 1<<22)
)

// toPairs rounds to nearest, even in the middle. Packing can do with AVX2.
func (a *asm) toPairs() {
	a.fn("toPairsAVX2", "dst *uint32, src *float32, rows int", "")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, SI", a.arg("src"))
	a.p("MOVQ %s, CX", a.arg("rows"))
	a.p("loop:")
	for half := range 2 {
		for row := range 2 {
			x, y, odd := a.reg(row), a.reg(2+row), a.reg(4)
			a.p("VMOVUPS %d(SI), %s", 64*row+32*half, x)
			a.p("VPSRLD $16, %s, %s", x, odd)
			a.op3("VPAND", oneBit, odd, odd)
			a.op3("VPADDD", halfBit, x, y)
			a.p("VPADDD %s, %s, %s", odd, y, y)
			a.p("VCMPPS $3, %s, %s, %s", x, x, odd) // unordered: NaN, which adding might make something else
			a.op3("VPOR", quietBit, x, x)
			a.p("VBLENDVPS %s, %s, %s, %s", odd, x, y, y)
		}
		a.p("VPSRLD $16, Y2, Y2")
		a.op3("VPAND", highHalf, "Y3", "Y3")
		a.p("VPOR Y3, Y2, Y2")
		a.p("VMOVDQU Y2, %d(DI)", 32*half)
	}
	a.p("ADDQ $128, SI")
	a.p("ADDQ $64, DI")
	a.p("DECQ CX")
	a.p("JNZ loop")
	a.ret()
}

func (a *asm) fromPairs() {
	a.fn("fromPairs"+a.name, "dst *float32, src *uint32, rows int", "")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, SI", a.arg("src"))
	a.p("MOVQ %s, CX", a.arg("rows"))
	mask := a.reg(2)
	a.fill(highHalf, mask)
	a.p("loop:")
	for at := 0; at < 64; at += a.bytes {
		a.p("VMOVUPS %d(SI), %s", at, a.reg(0))
		a.p("VPSLLD $16, %s, %s", a.reg(0), a.reg(1))
		a.p("VANDPS %s, %s, %s", mask, a.reg(0), a.reg(0))
		a.p("VMOVUPS %s, %d(DI)", a.reg(1), at)
		a.p("VMOVUPS %s, %d(DI)", a.reg(0), 64+at)
	}
	a.p("ADDQ $64, SI")
	a.p("ADDQ $128, DI")
	a.p("DECQ CX")
	a.p("JNZ loop")
	a.ret()
}

// roundPairs rounds 16 numbers, eight pairs, at a time.
func (a *asm) roundPairs() {
	a.fn("roundPairs"+a.name, "dst *uint32, src *float32, blocks int", "")
	a.p("MOVQ %s, DI", a.arg("dst"))
	a.p("MOVQ %s, SI", a.arg("src"))
	a.p("MOVQ %s, CX", a.arg("blocks"))
	a.p("loop:")
	a.p("VMOVUPS (SI), Z0")
	a.bytesOf("VCVTNEPS2BF16 Z0, Y1", 0x72, 1, 0, 0)
	a.p("VMOVDQU Y1, (DI)")
	a.p("ADDQ $64, SI")
	a.p("ADDQ $32, DI")
	a.p("DECQ CX")
	a.p("JNZ loop")
	a.ret()
}

// dotPairs adds to each sum the two products of a pair of bfloat16 of x and one of y.
func (a *asm) dotPairs(x, y, sum string) {
	number := func(reg string) (n int) {
		if _, err := fmt.Sscanf(reg, "Z%d", &n); err != nil {
			panic("not a register of AVX-512: " + reg)
		}
		return n
	}
	a.bytesOf(fmt.Sprintf("VDPBF16PS %s, %s, %s", x, y, sum), 0x52, number(sum), number(y), number(x))
}

// bytesOf writes an instruction of AVX512-BF16 byte by byte, as Go's assembler knows none of them: EVEX.512.F3.0F38.W0
// op /r, with dst in ModRM.reg, first in EVEX.vvvv and second in ModRM.rm. (Intel SDM volume 2A, section 2.7.)
func (a *asm) bytesOf(text string, op, dst, first, second int) {
	not := func(reg, bit int) int { return ^reg >> bit & 1 }
	a.p("BYTE $0x62; BYTE $%#02x; BYTE $%#02x; BYTE $%#02x; BYTE $%#02x; BYTE $%#02x // %s",
		not(dst, 3)<<7|not(second, 4)<<6|not(second, 3)<<5|not(dst, 4)<<4|2,
		^first&15<<3|1<<2|2, 2<<5|not(first, 4)<<3, op, 0xc0|dst&7<<3|second&7, text)
}
