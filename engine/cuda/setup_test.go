//go:build linux && amd64 && !nocuda

package cuda

import (
	"errors"
	"testing"

	"hark/engine/cuda/driver"
	"hark/engine/cuda/emu"
)

// newDevice makes a device for a test, on the emulated GPU or the one that HARK_CUDA_LIBRARY names.
func newDevice(t testing.TB, c Config) *Device {
	t.Helper()
	library, gpu := emu.Driver(t)
	c.Driver = driver.Config{Library: library}
	if gpu != nil {
		c.RegionBytes = 1 // every buffer has its guards
	}
	return open(t, c)
}

// emulated makes a device on an emulated GPU of its own, which the test may break.
func emulated(t testing.TB, c Config) (*Device, *emu.GPU) {
	t.Helper()
	gpu := emu.New(t)
	c.Driver.Library, c.RegionBytes = gpu.Library, 1
	return open(t, c), gpu
}

func open(t testing.TB, c Config) *Device {
	t.Helper()
	if c.CuBLAS == "" {
		c.CuBLAS = "off" // a real one would not know the emulated driver
	}
	d, err := New(c)
	if errors.Is(err, driver.ErrUnusable) && c.Storage == BF16 {
		t.Skip(err) // Turing has no bf16
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
