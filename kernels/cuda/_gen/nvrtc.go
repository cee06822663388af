package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// nvrtcWheel is the one release that the committed PTX comes from: the oldest that makes it for every architecture we name, so that
// drivers from 525 on take it.
const nvrtcWheel = "nvidia-cuda-nvrtc-cu12==12.0.140"

// nvrtc is NVIDIA's run-time compiler. It needs no GPU.
type nvrtc struct {
	version                                                     uintptr
	create, destroy, compile, ptxSize, ptx, logSize, compileLog uintptr
}

// openNVRTC opens the library that HARK_NVRTC names, or else the one that scripts/cuda/setup.sh fetched into root/.cache/cuda.
func openNVRTC(root string) (*nvrtc, error) {
	path := os.Getenv("HARK_NVRTC")
	if path == "" {
		found, err := findInCache(root, "libnvrtc.so.12")
		if err != nil {
			return nil, fmt.Errorf("%w: run scripts/cuda/setup.sh, or set HARK_NVRTC to the library of %s", err, nvrtcWheel)
		}
		path = found
	}
	lib, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	n := &nvrtc{}
	for name, f := range map[string]*uintptr{
		"nvrtcVersion": &n.version, "nvrtcCreateProgram": &n.create, "nvrtcDestroyProgram": &n.destroy,
		"nvrtcCompileProgram": &n.compile, "nvrtcGetPTXSize": &n.ptxSize, "nvrtcGetPTX": &n.ptx,
		"nvrtcGetProgramLogSize": &n.logSize, "nvrtcGetProgramLog": &n.compileLog,
	} {
		if *f, err = purego.Dlsym(lib, name); err != nil {
			return nil, err
		}
	}
	var major, minor int32
	purego.SyscallN(n.version, uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)))
	if major != 12 || minor != 0 {
		return nil, fmt.Errorf("%s is NVRTC %d.%d, want 12.0 (%s)", path, major, minor, nvrtcWheel)
	}
	return n, nil
}

// findInCache finds a file that a wheel was unpacked to.
func findInCache(root, name string) (string, error) {
	var found string
	err := filepath.WalkDir(filepath.Join(root, ".cache", "cuda"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == name && !d.IsDir() {
			found = path
			return filepath.SkipAll
		}
		return err
	})
	if found == "" {
		return "", fmt.Errorf("no %s in .cache/cuda (%v)", name, err)
	}
	return found, nil
}

// source is a file with its name.
type source struct{ name, text string }

// ptxFor compiles a source, which may include headers, to the PTX of a virtual architecture.
func (n *nvrtc) ptxFor(src source, headers []source, arch string) ([]byte, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	cString := func(s string) *byte {
		b := append([]byte(s), 0)
		pin.Pin(&b[0])
		return &b[0]
	}
	var texts, names []*byte
	for _, h := range headers {
		texts, names = append(texts, cString(h.text)), append(names, cString(h.name))
	}
	var program uintptr
	if r, _, _ := purego.SyscallN(n.create, uintptr(unsafe.Pointer(&program)), uintptr(unsafe.Pointer(cString(src.text))),
		uintptr(unsafe.Pointer(cString(src.name))), uintptr(len(headers)), uintptr(unsafe.Pointer(&texts[0])),
		uintptr(unsafe.Pointer(&names[0]))); r != 0 {
		return nil, fmt.Errorf("%s: nvrtcCreateProgram: status %d", src.name, r)
	}
	defer purego.SyscallN(n.destroy, uintptr(unsafe.Pointer(&program)))
	options := []*byte{cString("--gpu-architecture=" + arch), cString("--std=c++17")}
	if r, _, _ := purego.SyscallN(n.compile, program, uintptr(len(options)), uintptr(unsafe.Pointer(&options[0]))); r != 0 {
		return nil, fmt.Errorf("%s for %s: status %d\n%s", src.name, arch, r, text(n.logSize, n.compileLog, program))
	}
	return text(n.ptxSize, n.ptx, program), nil
}

// text is what one of NVRTC's pairs of functions gives, without the zero at its end.
func text(size, get, program uintptr) []byte {
	var length uintptr
	purego.SyscallN(size, program, uintptr(unsafe.Pointer(&length)))
	b := make([]byte, max(length, 1))
	purego.SyscallN(get, program, uintptr(unsafe.Pointer(&b[0])))
	return b[:len(b)-1]
}
