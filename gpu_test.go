//go:build linux && amd64 && !nocuda

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hark/engine/cuda/emu"
)

// TestGPUScripts runs testdata/gpu: the binary on an emulated GPU, whose libraries are $EMULATED and $EMULATED_BLAS.
func TestGPUScripts(t *testing.T) {
	gpu := emu.New(t)
	runScripts(t, "testdata/gpu", map[string]string{"EMULATED": gpu.Library, "EMULATED_BLAS": gpu.BLAS})
}

// TestDeviceCheck runs the script for a real GPU on an emulated one, with as little work as shows
// that each of its parts does what it is for.
func TestDeviceCheck(t *testing.T) {
	if os.Getenv("HARK_TEST_CUDA") == "" {
		t.Skip("left to make test-cuda")
	}
	gpu := emu.New(t)
	hark := filepath.Join(t.TempDir(), "hark")
	if out, err := exec.Command("go", "build", "-o", hark, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	check := exec.Command("scripts/cuda/device-check.sh", hark)
	check.Env = append(os.Environ(), "HARK_CUDA_LIBRARY="+gpu.Library, "HARK_CUBLAS=off", "HARK_CHECK_SMALL=1", "EMU_NAME=emulated H200")
	out, err := check.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{"primitives do as they should", "kernels beside the CPU", "%roofline", "times as fast as speech", "mixed load of parakeet-tiny"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("nothing is said of %q", want)
		}
	}
	// A part that fails is told of, and the others run on.
	check = exec.Command("scripts/cuda/device-check.sh", hark)
	check.Env = append(os.Environ(), "HARK_CUDA_LIBRARY=/nowhere/libcuda.so.1", "HARK_CHECK_SMALL=1")
	if out, err = check.CombinedOutput(); err == nil || strings.Count(string(out), "FAILED") < 10 {
		t.Errorf("without a GPU: %v\n%s", err, out)
	}
}
