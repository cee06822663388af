package kernels

import (
	"syscall"
	"unsafe"
)

// hugePage is the size of a huge page on amd64 and, with 4 KB pages, on arm64.
const hugePage = 2 << 20

// adviseHuge asks the system to back the whole huge pages within x by such pages. Weights are read from end to end for
// each token, and looking up small pages would take a tenth of that time. It is a hint: where transparent huge pages
// are off, nothing happens and the error tells nobody anything.
func adviseHuge(x []byte) error {
	skip := misalignment(unsafe.Pointer(unsafe.SliceData(x)), hugePage)
	n := (len(x) - skip) / hugePage * hugePage
	if n <= 0 {
		return nil
	}
	return syscall.Madvise(x[skip:skip+n], syscall.MADV_HUGEPAGE)
}
