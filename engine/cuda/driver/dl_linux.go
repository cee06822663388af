//go:build linux && !nocuda

package driver

import (
	"fmt"
	"runtime"

	"github.com/ebitengine/purego"
)

// built says that this build can open libraries.
const built = true

// openLibrary opens a shared library by soname or path. Its symbols stay its own.
func openLibrary(name string) (uintptr, error) {
	runtime.LockOSThread() // why a library can't be opened is kept for each thread
	defer runtime.UnlockOSThread()
	h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return 0, err
	}
	return h, nil
}

// lookUp finds a function of an opened library.
func lookUp(library uintptr, name string) (uintptr, error) {
	fn, err := purego.Dlsym(library, name)
	if err != nil {
		return 0, fmt.Errorf("no function %s", name)
	}
	return fn, nil
}

// call calls a C function that takes integers and pointers only, at most 32, and returns an integer.
// A pointer's conversion to uintptr must be written in the argument list itself: then what it points
// to stays in place until the call returns.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
