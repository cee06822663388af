package cuda

import (
	"fmt"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// buffer is memory of the GPU's.
type buffer struct {
	block  block
	format format
	n      int
}

func (b *buffer) Len() int { return b.n }

// address is where the buffer begins.
func (b *buffer) address() driver.DevicePtr { return driver.DevicePtr(b.block.address) }

// working is the format of tensors and weights.
func (d *Device) working() format {
	if d.config.Storage == BF16 {
		return bf16
	}
	return f16
}

// Alloc makes a buffer of n elements of the storage's format, all zero.
func (d *Device) Alloc(n int) (engine.Buffer, error) { return d.allocZero(n, d.working()) }

// AllocSingle makes a buffer of n float32, all zero.
func (d *Device) AllocSingle(n int) (engine.Buffer, error) { return d.allocZero(n, f32) }

func (d *Device) allocZero(n int, f format) (engine.Buffer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, err := d.alloc(n, f)
	if err != nil {
		return nil, err
	}
	d.add(&zero{b.address(), int(b.block.bytes)})
	return b, nil
}

// alloc makes a buffer of any contents, which the device owns. The lock is held.
func (d *Device) alloc(n int, f format) (*buffer, error) {
	if err := d.lostError(); err != nil {
		return nil, err
	}
	if n < 0 || n > 1<<40 {
		return nil, fmt.Errorf("cuda: no buffer can have %d elements", n)
	}
	blk, err := d.memory.alloc(int64(n) * int64(f.bytes()))
	if err != nil {
		return nil, d.failure(err)
	}
	b := &buffer{blk, f, n}
	d.owned[b] = true
	return b, nil
}

// Free gives buf's memory back. What was queued may still use it.
func (d *Device) Free(buf engine.Buffer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flush()
	d.free(buf.(*buffer))
}

// free gives a buffer's memory back, whose users have been submitted. The lock is held.
func (d *Device) free(b *buffer) {
	if !d.owned[b] {
		return
	}
	delete(d.owned, b)
	if err := d.memory.release(b.block); err != nil {
		d.fail(err)
	}
}

// place makes a buffer that holds values. The lock is held.
func (d *Device) place(values []float32, f format) (*buffer, error) {
	b, err := d.alloc(len(values), f)
	if err != nil {
		return nil, err
	}
	d.send(b.address(), values, f)
	return b, nil
}

// placeWords makes a buffer that holds words as they are. The lock is held.
func (d *Device) placeWords(words []uint32) (*buffer, error) {
	raw := make([]byte, 4*len(words))
	putWords(raw, words)
	return d.placeBytes(raw, f32)
}

// placeBytes makes a buffer of elements as they lie in memory. The lock is held.
func (d *Device) placeBytes(raw []byte, f format) (*buffer, error) {
	b, err := d.alloc(len(raw)/f.bytes(), f)
	if err != nil {
		return nil, err
	}
	d.sendBytes(b.address(), raw)
	return b, nil
}

// sendBytes queues the copying of bytes to the GPU. They are read before it returns. The lock is held.
func (d *Device) sendBytes(to driver.DevicePtr, raw []byte) {
	for len(raw) > 0 {
		src := d.pages.take(d, min(len(raw), pageBytes))
		copy(src, raw)
		d.copyUp(to, src)
		to, raw = to+driver.DevicePtr(len(src)), raw[len(src):]
	}
}

// send queues the copying of values to the GPU. They are read before it returns. The lock is held.
func (d *Device) send(to driver.DevicePtr, values []float32, f format) {
	for len(values) > 0 {
		n := min(len(values), pageBytes/f.bytes())
		src := d.pages.take(d, n*f.bytes())
		f.encode(src, values[:n])
		d.copyUp(to, src)
		to, values = to+driver.DevicePtr(len(src)), values[n:]
	}
}

// Upload copies src to dst.
func (d *Device) Upload(dst engine.Tensor, src []float32) {
	if len(src) != dst.Rows*dst.Cols {
		panic(fmt.Sprintf("cuda: Upload: %d elements to %d x %d", len(src), dst.Rows, dst.Cols))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := formatOf(dst)
	if dst.Rows == 0 || dst.Cols == 0 {
		return
	}
	if dst.Stride == dst.Cols || dst.Rows == 1 {
		d.send(address(dst), src, f)
		return
	}
	for i := range dst.Rows {
		d.send(address(dst.Slice(i, i+1)), src[i*dst.Cols:][:dst.Cols], f)
	}
}

// Download waits for all work on src and copies it to dst.
func (d *Device) Download(dst []float32, src engine.Tensor) error {
	if len(dst) != src.Rows*src.Cols {
		panic(fmt.Sprintf("cuda: Download: %d x %d to %d elements", src.Rows, src.Cols, len(dst)))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(dst) == 0 {
		return d.wait()
	}
	f, rows, cols := formatOf(src), 1, len(dst)
	if src.Stride != src.Cols {
		rows, cols = src.Rows, src.Cols
	}
	for i := range rows {
		from, row := address(src)+driver.DevicePtr(i*src.Stride*f.bytes()), dst[i*cols:][:cols]
		for len(row) > 0 {
			n := min(len(row), pageBytes/f.bytes())
			got, err := d.fetch(from, n*f.bytes())
			if err != nil {
				return err
			}
			f.decode(row[:n], got)
			from, row = from+driver.DevicePtr(n*f.bytes()), row[n:]
		}
	}
	return nil
}

// Sync waits for everything queued and returns the first failure.
func (d *Device) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wait()
}

// address is where a tensor begins. It panics if the tensor leaves its buffer or if its rows overlap.
func address(t engine.Tensor) driver.DevicePtr {
	b := t.Buf.(*buffer)
	if t.Rows > 0 && t.Cols > 0 {
		if t.Rows > 1 && t.Stride < t.Cols {
			panic(fmt.Sprintf("cuda: rows of %d at a stride of %d", t.Cols, t.Stride))
		}
		if end := t.Off + (t.Rows-1)*t.Stride + t.Cols; t.Off < 0 || end > b.n {
			panic(fmt.Sprintf("cuda: a tensor up to element %d of a buffer of %d", end, b.n))
		}
	}
	return b.address() + driver.DevicePtr(t.Off*b.format.bytes())
}

// formatOf is how a tensor's elements lie in memory.
func formatOf(t engine.Tensor) format { return t.Buf.(*buffer).format }

// need panics unless a tensor has a shape.
func need(op, name string, t engine.Tensor, rows, cols int) {
	if t.Rows != rows || t.Cols != cols {
		panic(fmt.Sprintf("cuda: %s: %s is %d x %d, want %d x %d", op, name, t.Rows, t.Cols, rows, cols))
	}
}

// total is the number of rows of a batch.
func total(lens []int) int {
	n := 0
	for _, l := range lens {
		if l < 0 {
			panic(fmt.Sprintf("cuda: an item of %d rows", l))
		}
		n += l
	}
	return n
}

// ceilDiv is a/b, rounded up.
func ceilDiv(a, b int) int { return (a + b - 1) / b }
