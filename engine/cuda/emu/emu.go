//go:build linux && amd64 && !nocuda

// Package emu builds and drives an emulated GPU, for tests: a libcuda.so.1 of our own that runs the
// kernels' sources on the CPU, and in the same file the few functions of cuBLASLt that are used. See
// README.md for what it finds and what it can't show.
//
// It is built with g++ when it is first needed, into the user's cache, by content. Without g++ tests that need it are
// skipped, except where CI is set: there they fail.
//
// With HARK_CUDA_LIBRARY set, to libcuda.so.1 or a path, [Driver] names that library
// instead, and the same tests run on a real GPU.
package emu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// GPU is an emulated GPU. Its settings are those of README.md.
type GPU struct {
	// Library is the path of its libcuda, BLAS of its cuBLASLt.
	Library, BLAS string

	set, fail, counts uintptr
}

// Counts is what has been asked of a GPU so far.
type Counts struct {
	Launches      uint64 // kernels and products launched one by one
	Kernels       uint64 // kernels run, those in graphs included
	GraphLaunches uint64
	Captures      uint64
	Matmuls       uint64 // cuBLASLt's products run
	CopiesUp      uint64 // from the host to the GPU
	BytesUp       uint64
	CopiesDown    uint64
	BytesDown     uint64
	CopiesOn      uint64 // within the GPU's memory
	BytesOn       uint64
	Memsets       uint64
	Waits         uint64 // calls that waited for the GPU
	Allocations   uint64
	Calls         uint64 // of the driver, all together
}

// Since is what was asked after an earlier count.
func (c Counts) Since(before Counts) Counts {
	const n = unsafe.Sizeof(c) / 8
	a, b := (*[n]uint64)(unsafe.Pointer(&c)), (*[n]uint64)(unsafe.Pointer(&before))
	for i := range a {
		a[i] -= b[i]
	}
	return c
}

// Driver is the library that the tests of this process share: a real one if HARK_CUDA_LIBRARY names it, and
// then gpu is nil, else an emulated GPU's.
func Driver(t testing.TB) (library string, gpu *GPU) {
	t.Helper()
	if real := os.Getenv("HARK_CUDA_LIBRARY"); real != "" {
		return real, nil
	}
	path := built(t)
	shared.once.Do(func() { shared.gpu, shared.err = open(path) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return path, shared.gpu
}

var shared struct {
	once sync.Once
	gpu  *GPU
	err  error
}

// New makes a GPU of the test's own, which it may break. It is always an emulated one.
func New(t testing.TB) *GPU {
	t.Helper()
	path := built(t)
	dir := t.TempDir()
	own := filepath.Join(dir, "libcuda.so.1")
	whole, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(own, whole, 0o755) // another file is another library to the loader
	}
	if err == nil {
		err = os.Symlink(own, filepath.Join(dir, blasName))
	}
	if err != nil {
		t.Fatal(err)
	}
	g, err := open(own)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// built builds the library, or skips the test where there is no compiler.
func built(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath(compiler()); err != nil {
		const missing = "the emulated GPU needs g++ (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++)"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip("NOT TESTED: " + missing)
	}
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func open(path string) (*GPU, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	g := &GPU{Library: path, BLAS: filepath.Join(filepath.Dir(path), blasName)}
	for _, f := range []struct {
		name string
		at   *uintptr
	}{{"emuSet", &g.set}, {"emuFail", &g.fail}, {"emuCounts", &g.counts}} {
		if *f.at, err = purego.Dlsym(handle, f.name); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Set changes a property, from the next call on that asks for it.
func (g *GPU) Set(name string, value int64) { g.SetText(name, strconv.FormatInt(value, 10)) }

// SetText is Set for properties that are no numbers. The empty text leaves a property as it is by itself.
func (g *GPU) SetText(name, value string) {
	n, v := append([]byte(name), 0), append([]byte(value), 0)
	purego.SyscallN(g.set, uintptr(unsafe.Pointer(&n[0])), uintptr(unsafe.Pointer(&v[0])))
}

// Fail has the n-th call of a driver function from now on, counted from 1, fail with a status. A fault (700, 716, 719)
// sticks. With n 0 what was asked for is taken back.
func (g *GPU) Fail(function string, n, status int) {
	name := append([]byte(function), 0)
	purego.SyscallN(g.fail, uintptr(unsafe.Pointer(&name[0])), uintptr(n), uintptr(status))
}

// Counts is what has been asked of the GPU so far.
func (g *GPU) Counts() Counts {
	var c Counts
	purego.SyscallN(g.counts, uintptr(unsafe.Pointer(&c)))
	return c
}
