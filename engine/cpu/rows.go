package cpu

import (
	"fmt"

	"hark/engine"
	"hark/kernels"
)

// Scatter sets row rows[i] of dst to row i of src.
func (d *Device) Scatter(dst, src engine.Tensor, rows []int32) {
	need("Scatter", "src", src, len(rows), dst.Cols)
	to, from := floats(dst), floats(src)
	for i, r := range rows {
		if r < 0 || int(r) >= dst.Rows {
			panic(fmt.Sprintf("cpu: Scatter: row %d of %d", r, dst.Rows))
		}
		copy(to[int(r)*dst.Stride:][:dst.Cols], from[i*src.Stride:])
	}
}

// AddRows sets row i of dst to act(row aRows[i] of a + row bRows[i] of b).
func (d *Device) AddRows(dst, a engine.Tensor, aRows []int32, b engine.Tensor, bRows []int32, act engine.Activation) {
	need("AddRows", "dst", dst, len(aRows), a.Cols)
	need("AddRows", "b", b, b.Rows, a.Cols)
	if len(aRows) != len(bRows) {
		panic(fmt.Sprintf("cpu: AddRows: %d rows and %d rows", len(aRows), len(bRows)))
	}
	to, left, right, f := floats(dst), floats(a), floats(b), activation(act)
	for i, r := range aRows {
		s := bRows[i]
		if r < 0 || int(r) >= a.Rows || s < 0 || int(s) >= b.Rows {
			panic(fmt.Sprintf("cpu: AddRows: rows %d of %d and %d of %d", r, a.Rows, s, b.Rows))
		}
		row := to[i*dst.Stride:][:dst.Cols]
		kernels.Add(row, left[int(r)*a.Stride:][:dst.Cols], right[int(s)*b.Stride:][:dst.Cols])
		kernels.Activate(f, row)
	}
}
