// Package cuda holds the CUDA kernels: their sources (.cu), and what becomes of them (.ptx), ready for a driver to load. It calls
// nothing; package engine/cuda does.
//
// # The dialect
//
// Sources are CUDA C++ without headers of the toolkit; dev.h has what else they use, a few one-line primitives in inline PTX. So NVRTC
// alone compiles them, and g++ too, for the emulator that tests them without a GPU.
//
// Every kernel that computes exists for two storage formats, named by its suffix: _f16 and _bf16. Sums and functions are float32 in both. foo.ptx is
// for compute capability 8.0, which all later GPUs translate when they load it, foo.sm75.ptx for Turing, which lacks bf16 and
// asynchronous copies.
//
// # The promise
//
// A row's result depends on that row alone, to the bit: grids and tiles may depend on the number of rows, orders of summation never do. It
// rests on mma giving an output the same bits wherever in its matrix it stands, which selftest.cu checks on the GPU.
//
// # Making PTX
//
// go generate compiles the sources with the one NVRTC release that scripts/cuda/setup.sh fetches (or HARK_NVRTC names); tests
// compare the result to the byte, and have ptxas assemble it for each architecture to see that no kernel spills registers.
package cuda

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:generate go run -C _gen .

//go:embed *.ptx
var files embed.FS

const (
	suffix80 = ".ptx"
	suffix75 = ".sm75.ptx"
)

// Module is a source's kernels as PTX, which is text. Bytes aren't to be changed, and end without the zero that the driver wants.
type Module struct {
	Name string // of the source, without .cu
	SM80 []byte // for compute capability 8.0 and later
	SM75 []byte // for 7.5
}

// Modules returns all modules, by name.
func Modules() []Module {
	var all []Module
	names, err := fs.Glob(files, "*"+suffix75)
	if err != nil {
		panic(err) // the pattern is a constant
	}
	slices.Sort(names)
	for _, n := range names {
		name := strings.TrimSuffix(n, suffix75)
		all = append(all, Module{Name: name, SM80: read(name + suffix80), SM75: read(n)})
	}
	return all
}

func read(name string) []byte {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // both are generated together
	}
	return b
}
