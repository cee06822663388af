package main

// neonBF16 makes rows of 16 pairs of bfloat16 two rows of float32. See bf16.
func neonBF16(n *neon) {
	const mask = 31
	n.fn("fromPairsNEON", "dst *float32, src *uint32, rows int", "")
	n.args("dst", "R0", "src", "R2", "rows", "R1")
	n.bits(mask, 0xffff0000)
	n.p("loop:")
	for i := range 4 {
		n.load("R2", 16*i, 0)
		n.shl(1, 0, 16)
		n.op3("AND", 0, 0, mask)
		n.store(1, "R0", 16*i)
		n.store(0, "R0", 64+16*i)
	}
	n.p("ADD $128, R0")
	n.p("ADD $64, R2")
	n.p("SUBS $1, R1, R1")
	n.p("BNE loop")
	n.ret()
}
