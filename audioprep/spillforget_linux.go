package audioprep

import "syscall"

// forget lets the kernel take the pages of a mapped file back. It is only advice: the
// pages are in the file.
func forget(b []byte) { syscall.Madvise(b, syscall.MADV_DONTNEED) }
