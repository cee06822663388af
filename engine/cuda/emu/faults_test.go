//go:build linux && amd64 && !nocuda

package emu_test

import (
	"os"
	"testing"
	"unsafe"

	"hark/engine/cuda/driver"
	"hark/engine/cuda/emu"
)

// run launches a kernel of faults.cu with 64 threads on 64 numbers of memory, and returns them.
func run(t *testing.T, gpu *emu.GPU, kernel string, threads, n, shared int, host bool) ([64]float32, error) {
	t.Helper()
	var out [64]float32
	e := start(t, gpu)
	err := e.Do(func(c *driver.Context) error {
		ptx, err := emu.Faults()
		if err != nil {
			return err
		}
		module, err := c.LoadModule(ptx)
		if err != nil {
			return err
		}
		f, err := c.Function(module, kernel)
		if err != nil {
			return err
		}
		pinned, err := c.HostAlloc(len(out) * 4)
		if err != nil {
			return err
		}
		memory, err := c.MemAlloc(len(out) * 4)
		if err != nil {
			return err
		}
		to := uint64(memory)
		if host {
			to = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(pinned))))
		}
		if err := c.Launch(f, driver.Dim3{X: 1, Y: 1, Z: 1}, driver.Dim3{X: threads, Y: 1, Z: 1}, shared, 0, []uint64{to, uint64(n)}); err != nil {
			return err
		}
		if err := c.CopyToHost(pinned, memory, 0); err != nil {
			return err
		}
		if err := c.Synchronize(); err != nil {
			return err
		}
		copy(out[:], unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(pinned))), len(out)))
		return nil
	})
	return out, err
}

func start(t *testing.T, gpu *emu.GPU) *driver.Executor {
	t.Helper()
	d, err := driver.Open(driver.Config{Library: gpu.Library})
	if err != nil {
		t.Fatal(err)
	}
	gpus, err := d.Devices()
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.NewExecutor(gpus[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func TestFaults(t *testing.T) {
	if os.Getenv("HARK_EMU") == "asan" {
		t.Skip("AddressSanitizer ends the process at the first fault")
	}
	for _, c := range []struct {
		name, kernel       string
		threads, n, shared int
		host               bool
		want               driver.Status
	}{
		{"none", "fill_up", 64, 64, 0, false, 0},
		{"past the end", "past_end", 64, 64, 0, false, driver.IllegalAddress},
		{"host's address", "fill_up", 64, 64, 0, true, driver.IllegalAddress},
		{"misaligned", "misaligned", 64, 64, 0, false, 716},
		{"divergent barriers", "divergent_barriers", 64, 64, 0, false, driver.LaunchFailed},
		{"out of shared memory", "out_of_shared", 64, 1024, 1024, false, driver.IllegalAddress},
		{"too many threads", "fill_up", 1025, 64, 0, false, 701},
		{"shared memory that was not asked for", "fill_up", 64, 64, 49 << 10, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := run(t, emu.New(t), c.kernel, c.threads, c.n, c.shared, c.host)
			if c.want == 0 && err != nil || c.want != 0 && !driver.IsStatus(err, c.want) {
				t.Errorf("got %v, want status %d", err, c.want)
			}
		})
	}
}

// TestMissingBarrier: a kernel that lacks one comes out otherwise when threads run the other way round.
func TestMissingBarrier(t *testing.T) {
	forward, backward := emu.New(t), emu.New(t)
	backward.SetText("ORDER", "rev")
	forward.SetText("ORDER", "fwd")
	a, err := run(t, forward, "no_barrier", 64, 0, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	b, err := run(t, backward, "no_barrier", 64, 0, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	if a == b {
		t.Error("it does not show")
	}
}

// TestMissingWait: what was not waited for has not run.
func TestMissingWait(t *testing.T) {
	e := start(t, emu.New(t))
	err := e.Do(func(c *driver.Context) error {
		pinned, err := c.HostAlloc(4)
		if err != nil {
			return err
		}
		memory, err := c.MemAlloc(4)
		if err != nil {
			return err
		}
		if err := c.Zero(memory, 4, 0); err != nil {
			return err
		}
		if err := c.CopyToHost(pinned, memory, 0); err != nil {
			return err
		}
		if pinned[0] != 0xFF {
			t.Error("the copy was made before anybody waited")
		}
		if err := c.Synchronize(); err != nil {
			return err
		}
		if pinned[0] != 0 {
			t.Error("the copy was not made")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestStalePTX: PTX with other parameters than the source's is refused, with the translator's words.
func TestStalePTX(t *testing.T) {
	e := start(t, emu.New(t))
	err := e.Do(func(c *driver.Context) error {
		_, err := c.LoadModule([]byte(".version 8.0\n.visible .entry fill_up(\n.param .u64 a,\n.param .u64 b\n)\n{\nret;\n}\n"))
		if !driver.IsStatus(err, 218) {
			t.Error("got", err)
		}
		if _, err := c.LoadModule([]byte("text")); !driver.IsStatus(err, 200) {
			t.Error("no PTX: got", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCapture: what a capture forbids is refused while there is one.
func TestCapture(t *testing.T) {
	e := start(t, emu.New(t))
	err := e.Do(func(c *driver.Context) error {
		s, err := c.NewStream(0)
		if err != nil {
			return err
		}
		if err := c.BeginCapture(s); err != nil {
			return err
		}
		if _, err := c.MemAlloc(4); !driver.IsStatus(err, 900) {
			t.Error("MemAlloc:", err)
		}
		if err := c.SynchronizeStream(s); !driver.IsStatus(err, 900) {
			t.Error("SynchronizeStream:", err)
		}
		_, err = c.EndCapture(s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
