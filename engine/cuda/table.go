package cuda

import (
	"fmt"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// table is a matrix whose rows are added by position, in float32: it is small, and what is added to it is not.
type table struct {
	rows, cols int
	data       driver.DevicePtr
}

func (t *table) Shape() (rows, cols int) { return t.rows, t.cols }

// NewTable brings a table to the GPU.
func (d *Device) NewTable(w []float32, rows, cols int) (engine.Table, error) {
	if rows < 1 || cols < 1 || len(w) != rows*cols {
		return nil, fmt.Errorf("cuda: table of %d x %d: %d elements", rows, cols, len(w))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	b, err := d.place(w, f32)
	if err != nil {
		return nil, err
	}
	return &table{rows, cols, b.address()}, nil
}

// AddPositions adds row p of the table to row p of every item of x.
func (d *Device) AddPositions(x engine.Tensor, lens []int, t engine.Table) {
	tab := t.(*table)
	need("AddPositions", "x", x, total(lens), tab.cols)
	for _, l := range lens {
		if l > tab.rows {
			panic(fmt.Sprintf("cuda: AddPositions: an item of %d rows, a table of %d", l, tab.rows))
		}
	}
	items := starts(lens)
	v := view(x)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	args := append(v[:], d.stage(items), i32(len(lens)), i32(x.Rows), i32(x.Cols), at(tab.data))
	d.launchPieces("addpositions", x.Rows, x.Cols, args...)
}
