package cuda

import (
	"fmt"

	"hark/engine"
)

// product is dst = act(x wᵀ + bias) + residual. x is [m][k], dst [m][n]; the residual may be none, or dst.
type product struct {
	dst, x   engine.Tensor
	w        *weight
	act      engine.Activation
	residual engine.Tensor
}

// tile is the shape of what a block computes of a product, as kernels/cuda/matmul.cu has it.
type tile struct {
	name       string
	rows, cols int
	depth      int // of a stage, along k
	stages     int
	threads    int
}

// shared is the memory that a block's ring of stages takes, in bytes.
func (t *tile) shared() int { return t.stages * (t.rows + t.cols) * t.depth * 2 }

// blocks is how many it takes for a result of m x n.
func (t *tile) blocks(m, n int) int { return ceilDiv(m, t.rows) * ceilDiv(n, t.cols) }

// grid has a result's columns along x, so that blocks that run together share rows.
func (t *tile) grid(m, n int) dim3 { return dim3{X: ceilDiv(n, t.cols), Y: ceilDiv(m, t.rows), Z: 1} }

// tileSet is the tiles that a product may choose from without a change of its result: all add up in the same order.
type tileSet struct {
	whole []tile // for operands that can be copied as they are, largest first
	any   tile   // for all others
}

var (
	// manyRows are for weights that get many rows at a time, an encoder's: as few instructions as can be.
	manyRows = tileSet{
		[]tile{
			{"matmul_128x128", 128, 128, 32, 3, 256},
			{"matmul_128x64", 128, 64, 32, 4, 128},
			{"matmul_64x64", 64, 64, 64, 3, 128},
			{"matmul_32x32", 32, 32, 64, 6, 128},
		},
		tile{"matmul_any", 64, 64, 64, 3, 128},
	}
	// fewRows are for all others: as short a wait as can be. Warps share out k.
	fewRows = tileSet{
		[]tile{
			{"decode_64x64", 64, 64, 64, 3, 256},
			{"decode_32x32", 32, 32, 64, 6, 128},
			{"decode_16x16", 16, 16, 128, 6, 128},
		},
		tile{"decode_any", 64, 64, 64, 3, 256},
	}
)

// pick chooses a tile for a product of m rows and n columns: the largest that leaves at most a quarter of the
// multiprocessors without a block, and that isn't mostly rows that are not there.
func (s *tileSet) pick(m, n, multiprocessors int) *tile {
	for i := range s.whole {
		t := &s.whole[i]
		if t.rows <= max(16, 4*m) && 4*t.blocks(m, n) >= 3*multiprocessors {
			return t
		}
	}
	return &s.whole[len(s.whole)-1]
}

// multiplyOwn queues a product for our own kernel. The lock is held.
func (d *Device) multiplyOwn(p *product) {
	set := &fewRows
	if p.w.manyRows {
		set = &manyRows
	}
	t := &set.any
	if whole(p.x) {
		t = set.pick(p.x.Rows, p.w.n, d.gpu.SMs)
	}
	d.multiplyBy(t, p)
}

// multiplyBy queues a product for a tile's kernel. The lock is held.
func (d *Device) multiplyBy(t *tile, p *product) {
	m, n := p.x.Rows, p.w.n
	grid := t.grid(m, n)
	if grid.Y > maxGridY {
		panic(fmt.Sprintf("cuda: Linear: %d rows are too many", m))
	}
	x, dst, residual := view(p.x), view(p.dst), view(p.residual)
	args := append(x[:], at(p.w.data.address()), i32(p.w.ld), i32(m), i32(n), i32(p.w.k),
		at(p.w.bias), activation(p.act))
	args = append(append(args, dst[:]...), residual[:]...)
	d.launch(t.name+d.working().suffix(), grid, along(t.threads), t.shared(), args...)
}

// maxGridY is the driver's limit of a grid's second and third extent.
const maxGridY = 65535

// multiply queues a product: for cuBLASLt if it's there and worth it, else for our own kernel. The lock is held.
func (d *Device) multiply(p *product) {
	if !d.multiplyBLAS(p) {
		d.multiplyOwn(p)
	}
}
