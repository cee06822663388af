//go:build linux && amd64 && !nocuda

package driver_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hark/engine/cuda/driver"
	"hark/engine/cuda/emu"
)

// TestRefusals has a library of ours refuse in every way that a driver can.
func TestRefusals(t *testing.T) {
	notALibrary := filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := os.WriteFile(notALibrary, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		set    map[string]int64
		path   string // of the library, if it isn't the emulated one
		reason error
		text   string // that the error holds
	}{
		{"no library", nil, "/nowhere/libcuda.so.1", driver.ErrNoLibrary, "/nowhere/libcuda.so.1"},
		{"no library's file", nil, notALibrary, driver.ErrNoLibrary, "libcuda.so.1"},
		{"another library", nil, "libc.so.6", driver.ErrNoLibrary, "no function cuInit"},
		{"old driver", map[string]int64{"VERSION": 11080}, "", driver.ErrOldDriver, "CUDA 11.8; 12.0 is needed"},
		{"no GPU", map[string]int64{"INIT": 100}, "", driver.ErrNoGPU, "CUDA_ERROR_NO_DEVICE (100)"},
		{"no GPU that is seen", map[string]int64{"DEVICES": 0}, "", driver.ErrNoGPU, "sees none"},
		{"toolkit's stand-in", map[string]int64{"INIT": 34}, "", driver.ErrNoLibrary, "not the driver"},
		{"module and library differ", map[string]int64{"INIT": 803}, "", driver.ErrUnusable, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
		{"unknown status", map[string]int64{"INIT": 12345}, "", driver.ErrUnusable, "unknown error (12345)"},
		{"old GPU", map[string]int64{"CAPABILITY": 61}, "", driver.ErrUnusable, "older than Turing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.path
			if path == "" {
				gpu := emu.New(t)
				for name, value := range c.set {
					gpu.Set(name, value)
				}
				path = gpu.Library
			}
			err := start(path)
			var refusal *driver.Refusal
			if !errors.Is(err, c.reason) || !errors.As(err, &refusal) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v: … %s", err, c.reason, c.text)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

// start goes as far as an executor on the first GPU.
func start(path string) error {
	d, err := driver.Open(driver.Config{Library: path})
	if err != nil {
		return err
	}
	gpus, err := d.Devices()
	if err != nil {
		return err
	}
	e, err := d.NewExecutor(gpus[0])
	if err != nil {
		return err
	}
	e.Close()
	return nil
}

// TestBusyGPU: what keeps a context from being made is a refusal too.
func TestBusyGPU(t *testing.T) {
	for _, function := range []string{"cuDevicePrimaryCtxSetFlags_v2", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemHostAlloc"} {
		gpu := emu.New(t)
		gpu.Fail(function, 1, 46)
		if err := start(gpu.Library); !errors.Is(err, driver.ErrUnusable) || !driver.IsStatus(err, 46) {
			t.Errorf("%s: got %v", function, err)
		}
		if err := start(gpu.Library); err != nil {
			t.Errorf("%s: the next try: %v", function, err)
		}
	}
}

func TestMissingFunction(t *testing.T) {
	cc, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("NOT TESTED: needs g++")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "few.cc")
	text := `extern "C" int cuInit(unsigned) { return 0; }
extern "C" int cuGetErrorName(int, const char **) { return 1; }
extern "C" int cuDriverGetVersion(int *v) { *v = 12000; return 0; }`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(dir, "libfew.so")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, err = driver.Open(driver.Config{Library: library})
	if !errors.Is(err, driver.ErrUnusable) || !strings.Contains(err.Error(), "no function cuDeviceGetCount") || !strings.Contains(err.Error(), library) {
		t.Errorf("got %v", err)
	}
}

func TestDevices(t *testing.T) {
	gpu := emu.New(t)
	gpu.Set("DEVICES", 2)
	gpu.Set("SMS", 58)
	gpu.Set("CAPABILITY", 89)
	gpu.SetText("NAME", "NVIDIA L4")
	d, err := driver.Open(driver.Config{Library: gpu.Library})
	if err != nil {
		t.Fatal(err)
	}
	if d.Path() != gpu.Library || d.Version().String() != "12.8" {
		t.Errorf("%s, %s", d.Path(), d.Version())
	}
	gpus, err := d.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(gpus) != 2 || gpus[1].Ordinal != 1 || gpus[1].Name != "NVIDIA L4" || gpus[1].Capability() != 89 || gpus[1].SMs != 58 || gpus[1].MemoryBytes != 8<<30 {
		t.Errorf("got %+v", gpus)
	}
}
