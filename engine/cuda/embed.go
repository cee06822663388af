package cuda

import (
	"fmt"

	"hark/engine"
)

// Embed sets row i of dst to row ids[i] of the linear's weight plus row positions[i] of the table.
func (d *Device) Embed(dst engine.Tensor, tokens engine.Linear, ids []int32, t engine.Table, positions []int32) {
	l, tab := tokens.(linear), t.(*table)
	need("Embed", "dst", dst, len(ids), l.k)
	if len(positions) != len(ids) || tab.cols != l.k {
		panic(fmt.Sprintf("cuda: Embed: %d ids of width %d, %d positions of width %d", len(ids), l.k, len(positions), tab.cols))
	}
	indices("Embed", ids, l.n)
	indices("Embed", positions, tab.rows)
	v := view(dst)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	args := []arg{at(l.data.address()), i32(l.ld), d.stage(ids), at(tab.data), d.stage(positions), i32(dst.Rows), i32(dst.Cols)}
	d.launchPieces("embed", dst.Rows, dst.Cols, append(args, v[:]...)...)
}
