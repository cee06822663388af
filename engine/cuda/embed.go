package cuda

import (
	"fmt"

	"hark/engine"
)

// Embed sets row i of dst to row ids[i] of the linear's weight plus row positions[i] of the table.
func (d *Device) Embed(dst engine.Tensor, tokens engine.Linear, ids []int32, t engine.Table, positions []int32) {
	l, tab := embedding(dst, tokens, len(ids), t, len(positions))
	indices("Embed", ids, l.n)
	indices("Embed", positions, tab.rows)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	d.embed(dst, l, d.stage(ids), tab, d.stage(positions))
}

// embedding checks the shapes of Embed.
func embedding(dst engine.Tensor, tokens engine.Linear, ids int, t engine.Table, positions int) (linear, *table) {
	l, tab := tokens.(linear), t.(*table)
	need("Embed", "dst", dst, ids, l.k)
	if positions != ids || tab.cols != l.k {
		panic(fmt.Sprintf("cuda: Embed: %d ids of width %d, %d positions of width %d", ids, l.k, positions, tab.cols))
	}
	return l, tab
}

// embed queues Embed with ids and positions that lie on the GPU. The lock is held.
func (d *Device) embed(dst engine.Tensor, l linear, ids arg, tab *table, positions arg) {
	v := view(dst)
	args := []arg{at(l.data.address()), i32(l.ld), ids, at(tab.data), positions, i32(dst.Rows), i32(dst.Cols)}
	d.launchPieces("embed", dst.Rows, dst.Cols, append(args, v[:]...)...)
}
