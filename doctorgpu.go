package main

import (
	"fmt"
	"io"

	"hark/engine/cuda"
	"hark/engine/cuda/driver"
)

// examineDriver tells which driver there is, and what GPUs it sees.
func (d *doctorCmd) examineDriver(table io.Writer) {
	opened, err := driver.Open(driver.Config{Library: d.CUDALibrary})
	if err != nil {
		fmt.Fprintf(table, "cuda\t%v\n", err)
		return
	}
	fmt.Fprintf(table, "cuda\t%s, for CUDA %s\n", opened.Path(), opened.Version())
	gpus, err := opened.Devices()
	if err != nil {
		fmt.Fprintf(table, "gpu\t%v\n", err)
		return
	}
	for _, g := range gpus {
		fmt.Fprintf(table, "gpu\t%d: %s, compute capability %d.%d, %d multiprocessors, %s\n", g.Ordinal, g.Name,
			g.Major, g.Minor, g.SMs, byteSize(g.MemoryBytes))
	}
}

// examineGPU tells what the GPU that will be used has. It has been tried already: one
// that computes wrongly is not opened.
func examineGPU(table io.Writer, gpu *cuda.Device) {
	free, total := gpu.Memory()
	fmt.Fprintf(table, "\tmemory: %s of %s are free\n", byteSize(free), byteSize(total))
	fmt.Fprintf(table, "\tself-test: %d primitives do as they should\n", cuda.SelfTests)
	path, version, err := gpu.BLAS()
	switch {
	case path != "":
		fmt.Fprintf(table, "cublas\t%s, %s: multiplies large matrices\n", path, version)
	case err != nil:
		fmt.Fprintf(table, "cublas\t%v; kernels of our own multiply\n", err)
	default:
		fmt.Fprint(table, "cublas\toff: kernels of our own multiply\n")
	}
}
