package cuda

import (
	"fmt"
	"math"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// dim3 is the extent of a grid in blocks, or of a block in threads.
type dim3 = driver.Dim3

// along is n blocks or threads in a row.
func along(n int) dim3 { return dim3{X: n, Y: 1, Z: 1} }

// arg is an argument of a kernel: its bits, in as many low bytes as the parameter has.
type arg uint64

// ptr is a tensor's address; none for the zero tensor.
func ptr(t engine.Tensor) arg {
	if t.IsZero() {
		return 0
	}
	return arg(address(t))
}

// at is an address.
func at(p driver.DevicePtr) arg { return arg(p) }

// i32 is an int of the kernel's. It panics if n does not fit.
func i32(n int) arg {
	if int(int32(n)) != n {
		panic(fmt.Sprintf("cuda: %d is no 32-bit argument", n))
	}
	return arg(uint32(n))
}

// flt is a float of the kernel's.
func flt(v float32) arg { return arg(math.Float32bits(v)) }

// launch queues a kernel. shared is the dynamic shared memory of a block, in bytes. An empty
// grid is nothing to do. The lock is held.
func (d *Device) launch(name string, grid, block dim3, shared int, args ...arg) {
	if grid.X == 0 || grid.Y == 0 || grid.Z == 0 {
		return
	}
	k := d.kernels.find(name)
	if k == nil {
		panic("cuda: there is no kernel " + name)
	}
	l := &launch{kernel: k, grid: grid, block: block, shared: shared, parameters: make([]uint64, len(args))}
	for i, a := range args {
		l.parameters[i] = uint64(a)
	}
	d.add(l)
}

// launch is a kernel to be run.
type launch struct {
	kernel      *kernel
	grid, block dim3
	shared      int
	parameters  []uint64
}

func (l *launch) submit(c *driver.Context, s driver.Stream) error {
	if err := l.kernel.load(c, l.shared); err != nil {
		return err
	}
	if err := c.Launch(l.kernel.function, l.grid, l.block, l.shared, s, l.parameters); err != nil {
		return fmt.Errorf("kernel %s: %w", l.kernel.name, err)
	}
	return nil
}

func (l *launch) appendKey(key []byte) []byte {
	key = appendNumbers(key, uint64(l.kernel.id), pack(l.grid.X, l.grid.Y), pack(l.grid.Z, l.shared),
		pack(l.block.X, l.block.Y), uint64(l.block.Z))
	return appendNumbers(key, l.parameters...)
}

// pack puts two 32-bit numbers in one.
func pack(a, b int) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

// zero sets memory to zero.
type zero struct {
	at    driver.DevicePtr
	bytes int
}

func (z *zero) submit(c *driver.Context, s driver.Stream) error { return c.Zero(z.at, z.bytes, s) }

func (z *zero) appendKey(key []byte) []byte {
	return appendNumbers(key, keyZero, uint64(z.at), uint64(z.bytes))
}

// What begins the key of a command that is no kernel; kernels' numbers are small.
const (
	keyZero = ^uint64(iota)
	keyMatmul
)
