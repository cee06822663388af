package main

// peakSums is how many sums a loop of multiply-adds has, enough for none to wait for itself.
const peakSums = 12

// peak writes loops of independent multiply-adds and nothing else: what benchmarks measure the tiles against.
func peak(a *asm) {
	const x, y = peakSums, peakSums + 1
	a.both(func() {
		a.peakLoop("peak"+a.name, func(sum int) {
			a.p("VFMADD231PS %s, %s, %s", a.reg(x), a.reg(y), a.reg(sum))
		})
		a.peakLoop("peakI8"+a.name+"VNNI", func(sum int) {
			if a.wide() {
				a.p("VPDPBUSD %s, %s, %s", a.reg(x), a.reg(y), a.reg(sum))
			} else {
				a.dotVEX(sum, y, x)
			}
		})
	})
	a.peakLoop("peakPairsAVX512", func(sum int) { a.dotPairs(a.reg(x), a.reg(y), a.reg(sum)) })
	a.isa = avx2
	a.peakLoop("peakSevensAVX2", func(sum int) {
		const first, second = peakSums + 2, peakSums + 3
		a.p("VPMADDUBSW Y%d, Y%d, Y%d", x, y, first)
		a.p("VPMADDUBSW Y%d, Y%d, Y%d", x, y, second)
		a.p("VPADDW Y%d, Y%d, Y%d", second, first, first)
		a.p("VPMADDWD Y%d, Y%d, Y%d", x, first, first)
		a.p("VPADDD Y%d, Y%d, Y%d", first, sum, sum)
	})
}

// peakLoop writes n rounds of what each does to one of the sums.
func (a *asm) peakLoop(name string, each func(sum int)) {
	a.fn(name, "n int", "")
	a.p("MOVQ %s, CX", a.arg("n"))
	for i := range peakSums + 4 {
		a.zero(a.reg(i))
	}
	loop := a.label("loop")
	a.p("PCALIGN $32")
	a.p("%s:", loop)
	for i := range peakSums {
		each(i)
	}
	a.p("DECQ CX")
	a.p("JNZ %s", loop)
	a.ret()
}
