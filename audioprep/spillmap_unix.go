//go:build unix

package audioprep

import (
	"os"
	"syscall"
)

const canMap = true

// mapSpill maps the first size bytes of a file, which must be there. The mapping
// outlives the file's handle.
func mapSpill(f *os.File, size int64) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
}

func unmap(b []byte) error { return syscall.Munmap(b) }
