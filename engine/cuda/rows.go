package cuda

import (
	"fmt"

	"hark/engine"
)

const (
	// pieceThreads is how many threads a block has of a kernel that gives each a piece of a row, pieceColumns wide.
	// (kernels/cuda/elementwise.cu)
	pieceThreads = 256
	pieceColumns = 8
)

// launchPieces queues a kernel of which each thread does a piece of a row. The lock is held.
func (d *Device) launchPieces(name string, rows, cols int, args ...arg) {
	d.launch(name+d.working().suffix(), along(ceilDiv(rows*ceilDiv(cols, pieceColumns), pieceThreads)),
		along(pieceThreads), 0, args...)
}

// Gather sets row i of dst to row rows[i] of src.
func (d *Device) Gather(dst, src engine.Tensor, rows []int32) {
	need("Gather", "dst", dst, len(rows), src.Cols)
	indices("Gather", rows, src.Rows)
	d.copyRows(dst, src, rows, nil)
}

// Scatter sets row rows[i] of dst to row i of src.
func (d *Device) Scatter(dst, src engine.Tensor, rows []int32) {
	need("Scatter", "src", src, len(rows), dst.Cols)
	indices("Scatter", rows, dst.Rows)
	d.copyRows(dst, src, nil, rows)
}

// copyRows sets row to[i] of dst to row from[i] of src; nil stands for 0, 1, 2, ….
func (d *Device) copyRows(dst, src engine.Tensor, from, to []int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	d.launchCopy(dst, src, max(len(from), len(to)), d.stageOrNone(from), d.stageOrNone(to))
}

// launchCopy queues copyRows with rows that lie on the GPU; 0 stands for 0, 1, 2, …. The lock is held.
func (d *Device) launchCopy(dst, src engine.Tensor, rows int, from, to arg) {
	vdst, vsrc := view(dst), view(src)
	args := append(append(vsrc[:], from, i32(rows), i32(src.Cols)), vdst[:]...)
	d.launchPieces("copy", rows, src.Cols, append(args, to)...)
}

// stageOrNone is stage, but no address for nil. The lock is held.
func (d *Device) stageOrNone(values []int32) arg {
	if values == nil {
		return 0
	}
	return d.stage(values)
}

// AddRows sets row i of dst to act(row aRows[i] of a + row bRows[i] of b).
func (d *Device) AddRows(dst, a engine.Tensor, aRows []int32, b engine.Tensor, bRows []int32, act engine.Activation) {
	need("AddRows", "dst", dst, len(aRows), a.Cols)
	need("AddRows", "b", b, b.Rows, a.Cols)
	if len(aRows) != len(bRows) {
		panic(fmt.Sprintf("cuda: AddRows: %d rows and %d rows", len(aRows), len(bRows)))
	}
	indices("AddRows", aRows, a.Rows)
	indices("AddRows", bRows, b.Rows)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.enter()
	d.launchAddRows(dst, a, d.stage(aRows), b, d.stage(bRows), act)
}

// launchAddRows queues AddRows with rows that lie on the GPU. The lock is held.
func (d *Device) launchAddRows(dst, a engine.Tensor, aRows arg, b engine.Tensor, bRows arg, act engine.Activation) {
	va, vb, vdst := view(a), view(b), view(dst)
	args := append(append(va[:], aRows), vb[:]...)
	args = append(args, bRows, i32(dst.Rows), i32(a.Cols), activation(act))
	d.launchPieces("addrows", dst.Rows, a.Cols, append(args, vdst[:]...)...)
}
