package main

// peakSums is how many sums a loop of multiply-adds has, enough for none to wait for itself.
const peakSums = 12

// peak writes loops of independent multiply-adds and nothing else: what benchmarks measure the tiles against.
func peak(a *asm) {
	const x, y, product = peakSums, peakSums + 1, peakSums + 2
	a.both(func() {
		a.peakLoop("peak"+a.name, func(sum int) {
			a.p("VFMADD231PS %s, %s, %s", a.reg(x), a.reg(y), a.reg(sum))
		})
		a.peakLoop("peakI16"+a.name, func(sum int) {
			a.p("VPMADDWD %s, %s, %s", a.reg(x), a.reg(y), a.reg(product))
			a.p("VPADDD %s, %s, %s", a.reg(product), a.reg(sum), a.reg(sum))
		})
		a.peakLoop("peakI8"+a.name+"VNNI", func(sum int) {
			if a.wide() {
				a.p("VPDPBUSD %s, %s, %s", a.reg(x), a.reg(y), a.reg(sum))
			} else {
				a.dotVEX(sum, y, x)
			}
		})
	})
}

// peakLoop writes n rounds of what each does to one of the sums.
func (a *asm) peakLoop(name string, each func(sum int)) {
	a.fn(name, "n int", "")
	a.p("MOVQ %s, CX", a.arg("n"))
	for i := range peakSums + 3 {
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
