//go:build linux && amd64 && !nocuda

package whisper

import (
	"testing"

	"hark/engine/cuda"
	"hark/engine/cuda/driver"
	"hark/engine/cuda/emu"
)

// gpuTolerances are what 16 bits of storage may cost.
var gpuTolerances = map[cuda.Storage]tolerances{
	cuda.F16:  {encoder: 2e-3, logit: 2e-2, logProb: 1e-2},
	cuda.BF16: {encoder: 2e-2, logit: 2e-1, logProb: 5e-2},
}

// sharedGPU is a device on the GPU that tests share, which is an emulated one unless HARK_CUDA_LIBRARY is set.
func sharedGPU(t testing.TB, s cuda.Storage) *cuda.Device {
	t.Helper()
	library, _ := emu.Driver(t)
	return openGPU(t, cuda.Config{Driver: driver.Config{Library: library}, Storage: s, CuBLAS: "off"})
}

// ownGPU is a device on an emulated GPU of the test's own.
func ownGPU(t testing.TB, c cuda.Config) (*cuda.Device, *emu.GPU) {
	t.Helper()
	gpu := emu.New(t)
	c.Driver.Library, c.CuBLAS = gpu.Library, "off"
	return openGPU(t, c), gpu
}

func openGPU(t testing.TB, c cuda.Config) *cuda.Device {
	t.Helper()
	dev, err := cuda.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dev.Close)
	return dev
}

// TestGPUToyTurbo holds a GPU in both formats to the goldens that the CPU is held to.
func TestGPUToyTurbo(t *testing.T) {
	for s, most := range gpuTolerances {
		t.Run(s.String(), func(t *testing.T) { checkToyTurbo(t, sharedGPU(t, s), most) })
	}
}

// TestGPUToyTurboBytes holds a GPU that keeps the encoder's output in bytes to the same.
func TestGPUToyTurboBytes(t *testing.T) {
	library, _ := emu.Driver(t)
	dev := openGPU(t, cuda.Config{Driver: driver.Config{Library: library}, CuBLAS: "off", CrossBytes: true})
	checkToyTurbo(t, dev, gpuTolerances[cuda.F16])
}
