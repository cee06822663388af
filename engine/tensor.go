package engine

import "fmt"

// Buffer is memory of one device, in elements of the device's own number
// format. Only the device that made it can reach its contents.
type Buffer interface {
	// Len is the number of elements.
	Len() int
}

// Tensor is a matrix that lies in a [Buffer]: Rows rows of Cols elements, row-major, with
// Stride elements from one row's start to the next one's. It's a view: copying
// it copies no elements. The zero Tensor means "none" where an op says so.
type Tensor struct {
	Buf                     Buffer
	Off, Rows, Cols, Stride int
}

// NewTensor is the view of buf's first rows*cols elements as a dense matrix.
// It panics if buf is shorter, since shapes are the caller's own.
func NewTensor(buf Buffer, rows, cols int) Tensor {
	if rows*cols > buf.Len() {
		panic(fmt.Sprintf("engine: tensor of %d x %d in a buffer of %d", rows, cols, buf.Len()))
	}
	return Tensor{Buf: buf, Rows: rows, Cols: cols, Stride: cols}
}

// Slice is the view of rows [from, to).
func (t Tensor) Slice(from, to int) Tensor {
	if from < 0 || to < from || to > t.Rows {
		panic(fmt.Sprintf("engine: rows [%d, %d) of %d", from, to, t.Rows))
	}
	t.Off += from * t.Stride
	t.Rows = to - from
	return t
}

// Columns is the view of columns [from, to) of every row.
func (t Tensor) Columns(from, to int) Tensor {
	if from < 0 || to < from || to > t.Cols {
		panic(fmt.Sprintf("engine: columns [%d, %d) of %d", from, to, t.Cols))
	}
	t.Off += from
	t.Cols = to - from
	return t
}

// IsZero reports whether t is the zero Tensor, "none".
func (t Tensor) IsZero() bool { return t.Buf == nil }
