//go:build linux && amd64 && !nocuda

package main

import (
	"testing"

	"hark/engine/cuda/emu"
)

// TestGPUScripts runs testdata/gpu: the binary on an emulated GPU, whose libraries are $EMULATED and $EMULATED_BLAS.
func TestGPUScripts(t *testing.T) {
	gpu := emu.New(t)
	runScripts(t, "testdata/gpu", map[string]string{"EMULATED": gpu.Library, "EMULATED_BLAS": gpu.BLAS})
}
