package kernels

import (
	"testing"
	"unsafe"
)

func TestAlignedFloats(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 1000, 1 << 20, 3 << 20} {
		x := alignedFloats(n)
		if len(x) != n || cap(x) != n {
			t.Errorf("%d floats: length %d, capacity %d", n, len(x), cap(x))
		}
		if p := uintptr(unsafe.Pointer(unsafe.SliceData(x))); p%cacheLine != 0 {
			t.Errorf("%d floats begin at %#x", n, p)
		}
		for i, v := range x {
			if v != 0 {
				t.Fatalf("%d floats: [%d] = %v", n, i, v)
			}
		}
	}
}
