//go:build unix

package kernels

import (
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns a copy of x that ends where memory ends: the next byte faults when read or written.
func guarded(tb testing.TB, x []float32) []float32 {
	tb.Helper()
	page := syscall.Getpagesize()
	size := roundUp(4*len(x)+1, page)
	mem, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		tb.Fatalf("mmap: %v", err)
	}
	tb.Cleanup(func() {
		if err := syscall.Munmap(mem); err != nil {
			tb.Errorf("munmap: %v", err)
		}
	})
	if err := syscall.Mprotect(mem[size:], syscall.PROT_NONE); err != nil {
		tb.Fatalf("mprotect: %v", err)
	}
	g := unsafe.Slice((*float32)(unsafe.Pointer(&mem[0])), size/4)[size/4-len(x):]
	copy(g, x)
	return g[:len(x):len(x)]
}
