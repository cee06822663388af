package cpu

import (
	"fmt"
	"slices"

	"hark/engine"
	"hark/kernels"
)

// The operations of this file copy or add a few rows, at the speed of memory: one thread does them.

// table is a matrix whose rows are added by position.
type table struct {
	w          []float32
	rows, cols int
}

func (t *table) Shape() (rows, cols int) { return t.rows, t.cols }

func (t *table) row(p int) []float32 { return t.w[p*t.cols:][:t.cols] }

// NewTable copies a table.
func (d *Device) NewTable(w []float32, rows, cols int) (engine.Table, error) {
	if rows < 1 || cols < 1 || len(w) != rows*cols {
		return nil, fmt.Errorf("cpu: table of %d x %d: %d elements", rows, cols, len(w))
	}
	return &table{slices.Clone(w), rows, cols}, nil
}

// AddPositions adds row p of the table to row p of every item of x.
func (d *Device) AddPositions(x engine.Tensor, lens []int, t engine.Table) {
	tab := t.(*table)
	need("AddPositions", "x", x, total(lens), tab.cols)
	data := floats(x)
	for _, l := range lens {
		if l > tab.rows {
			panic(fmt.Sprintf("cpu: AddPositions: an item of %d rows, a table of %d", l, tab.rows))
		}
		for p := range l {
			row := data[p*x.Stride:][:x.Cols]
			kernels.Add(row, row, tab.row(p))
		}
		data = data[min(l*x.Stride, len(data)):]
	}
}

// Embed sets row i of dst to row ids[i] of the linear's weight plus row positions[i] of the table.
func (d *Device) Embed(dst engine.Tensor, tokens engine.Linear, ids []int32, t engine.Table, positions []int32) {
	l, tab := tokens.(*linear), t.(*table)
	need("Embed", "dst", dst, len(ids), l.k)
	if len(positions) != len(ids) || tab.cols != l.k {
		panic(fmt.Sprintf("cpu: Embed: %d ids of width %d, %d positions of width %d", len(ids), l.k,
			len(positions), tab.cols))
	}
	data := floats(dst)
	for i, id := range ids {
		row := data[i*dst.Stride:][:dst.Cols]
		l.row(int(id), row)
		kernels.Add(row, row, tab.row(int(positions[i])))
	}
}

// Gather sets row i of dst to row rows[i] of src.
func (d *Device) Gather(dst, src engine.Tensor, rows []int32) {
	need("Gather", "dst", dst, len(rows), src.Cols)
	to, from := floats(dst), floats(src)
	for i, r := range rows {
		if r < 0 || int(r) >= src.Rows {
			panic(fmt.Sprintf("cpu: Gather: row %d of %d", r, src.Rows))
		}
		copy(to[i*dst.Stride:][:dst.Cols], from[int(r)*src.Stride:])
	}
}
