package cuda

import (
	"fmt"

	"hark/engine"
)

// What kernels know of a tensor's kind, as kernels/cuda/vector.h has it.
const (
	kindSingle  = 1 // float32, not the storage's format
	kindAligned = 2 // every row starts on chunkBytes
)

// chunkBytes is what kernels read and write at a time.
const chunkBytes = 16

// view is a tensor as kernels get it, three arguments: address, distance of rows, kind. The zero tensor is "none".
func view(t engine.Tensor) [3]arg {
	if t.IsZero() {
		return [3]arg{}
	}
	kind := 0
	if formatOf(t) == f32 {
		kind |= kindSingle
	}
	if aligned(t) {
		kind |= kindAligned
	}
	return [3]arg{ptr(t), i32(t.Stride), i32(kind)}
}

// aligned reports whether every row starts on chunkBytes.
func aligned(t engine.Tensor) bool {
	return int(address(t))%chunkBytes == 0 && (t.Rows < 2 || t.Stride*formatOf(t).bytes()%chunkBytes == 0)
}

// whole reports whether a product can copy its operand to shared memory as it is.
func whole(t engine.Tensor) bool {
	return formatOf(t) != f32 && aligned(t) && t.Cols*formatOf(t).bytes()%chunkBytes == 0
}

// activation is the kernels' number of an activation, which is the engine's.
func activation(a engine.Activation) arg {
	if a > engine.SiLU {
		panic(fmt.Sprintf("cuda: activation %d is unknown", a))
	}
	return arg(a)
}

// starts is where the items of a batch begin, and where the last one ends.
func starts(lens []int) []int32 {
	s := make([]int32, 1, len(lens)+1)
	for _, l := range lens {
		s = append(s, s[len(s)-1]+int32(l))
	}
	return s
}

// indices panics unless every row is one of so many.
func indices(op string, rows []int32, of int) {
	for _, r := range rows {
		if r < 0 || int(r) >= of {
			panic(fmt.Sprintf("cuda: %s: row %d of %d", op, r, of))
		}
	}
}
