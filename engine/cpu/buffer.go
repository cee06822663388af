package cpu

import (
	"fmt"
	"math"
	"unsafe"

	"hark/engine"
)

// buffer is plain memory.
type buffer struct{ data []float32 }

func (b *buffer) Len() int { return len(b.data) }

// Alloc makes a buffer of n elements, all zero, on a cache line's boundary. The system gives
// the memory when it is first written to, so that a want of it shows only then.
func (d *Device) Alloc(n int) (engine.Buffer, error) {
	if n < 0 || n > math.MaxInt/8 {
		return nil, fmt.Errorf("cpu: no buffer can have %d elements", n)
	}
	return &buffer{alignedFloats(n)}, nil
}

// AllocSingle is Alloc: everything is in single precision here.
func (d *Device) AllocSingle(n int) (engine.Buffer, error) { return d.Alloc(n) }

// Free gives buf's memory to the garbage collector.
func (d *Device) Free(buf engine.Buffer) { buf.(*buffer).data = nil }

// Upload copies src to dst.
func (d *Device) Upload(dst engine.Tensor, src []float32) {
	if len(src) != dst.Rows*dst.Cols {
		panic(fmt.Sprintf("cpu: Upload: %d elements to %d x %d", len(src), dst.Rows, dst.Cols))
	}
	data := floats(dst)
	for i := range dst.Rows {
		copy(data[i*dst.Stride:][:dst.Cols], src[i*dst.Cols:])
	}
}

// Download copies src to dst.
func (d *Device) Download(dst []float32, src engine.Tensor) error {
	if len(dst) != src.Rows*src.Cols {
		panic(fmt.Sprintf("cpu: Download: %d x %d to %d elements", src.Rows, src.Cols, len(dst)))
	}
	data := floats(src)
	for i := range src.Rows {
		copy(dst[i*src.Cols:][:src.Cols], data[i*src.Stride:])
	}
	return nil
}

// Sync has nothing to wait for.
func (d *Device) Sync() error { return nil }

// floats is the memory of a tensor, from its first element to its last. It is where
// wrong shapes come to light: it panics if they leave the buffer or rows overlap.
func floats(t engine.Tensor) []float32 {
	if t.Rows == 0 || t.Cols == 0 {
		return nil
	}
	if t.Rows > 1 && t.Stride < t.Cols {
		panic(fmt.Sprintf("cpu: rows of %d at a stride of %d", t.Cols, t.Stride))
	}
	return t.Buf.(*buffer).data[t.Off : t.Off+(t.Rows-1)*t.Stride+t.Cols]
}

// need panics unless a tensor has a shape.
func need(op, name string, t engine.Tensor, rows, cols int) {
	if t.Rows != rows || t.Cols != cols {
		panic(fmt.Sprintf("cpu: %s: %s is %d x %d, want %d x %d", op, name, t.Rows, t.Cols, rows, cols))
	}
}

// total is the number of rows of a batch.
func total(lens []int) int {
	n := 0
	for _, l := range lens {
		if l < 0 {
			panic(fmt.Sprintf("cpu: an item of %d rows", l))
		}
		n += l
	}
	return n
}

// alignedFloats is a slice of n zeros that starts on a cache line, which make doesn't promise.
func alignedFloats(n int) []float32 {
	const line = 64 / 4
	s := make([]float32, n+line)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(s)))%64) / 4
	return s[off : off+n : off+n]
}

// ceilDiv is a/b, rounded up.
func ceilDiv(a, b int) int { return (a + b - 1) / b }
