//go:build linux && amd64 && !nocuda

package driver_test

import (
	"errors"
	"sync"
	"testing"
	"unsafe"

	"hark/engine/cuda/driver"
	"hark/engine/cuda/emu"
)

// executor is one on a GPU of the test's own.
func executor(t *testing.T) (*driver.Executor, *emu.GPU) {
	t.Helper()
	gpu := emu.New(t)
	return executorOn(t, gpu.Library), gpu
}

func executorOn(t *testing.T, library string) *driver.Executor {
	t.Helper()
	d, err := driver.Open(driver.Config{Library: library})
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

// do runs f on the executor, in which a failed call ends the test.
func do(t *testing.T, e *driver.Executor, f func(c *driver.Context) error) {
	t.Helper()
	if err := e.Do(f); err != nil {
		t.Fatal(err)
	}
}

func TestExecutor(t *testing.T) {
	e, _ := executor(t)
	var order []int // by the executor's thread alone
	var work sync.WaitGroup
	for i := range 100 {
		work.Go(func() { e.Go(func(*driver.Context) { order = append(order, i) }) })
	}
	work.Wait()
	do(t, e, func(c *driver.Context) error { return c.Synchronize() })
	if len(order) != 100 {
		t.Errorf("%d of 100 have run", len(order))
	}
	failure := errors.New("mine")
	if err := e.Do(func(*driver.Context) error { return failure }); err != failure {
		t.Error("got", err)
	}
	e.Close()
	e.Close()
	if err := e.Do(func(*driver.Context) error { return nil }); err != driver.ErrClosed {
		t.Error("after Close:", err)
	}
	if e.Go(func(*driver.Context) {}) {
		t.Error("something will run after Close")
	}
}

// words is pinned memory as numbers.
func words(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// gpuWork is a stream, a kernel and memory to try it on.
type gpuWork struct {
	stream   driver.Stream
	function driver.Function
	memory   driver.DevicePtr
	host     []byte
}

// prepare loads a faulty kernel.
func prepare(t *testing.T, e *driver.Executor, kernel string) *gpuWork {
	t.Helper()
	ptx, err := emu.Faults()
	if err != nil {
		t.Fatal(err)
	}
	w := new(gpuWork)
	do(t, e, func(c *driver.Context) (err error) {
		m, err := c.LoadModule(ptx)
		if err != nil {
			return err
		}
		if w.function, err = c.Function(m, kernel); err != nil {
			return err
		}
		if w.stream, err = c.NewStream(0); err != nil {
			return err
		}
		if w.host, err = c.HostAlloc(64 * 4); err != nil {
			return err
		}
		w.memory, err = c.MemAlloc(64 * 4)
		return err
	})
	return w
}

// launch runs the kernel, copies its result to the host, and waits.
func (w *gpuWork) launch(c *driver.Context, memory driver.DevicePtr, n, shared int) error {
	parameters := []uint64{uint64(memory), uint64(n)}
	if err := c.Launch(w.function, driver.Dim3{X: 1, Y: 1, Z: 1}, driver.Dim3{X: 64, Y: 1, Z: 1}, shared, w.stream, parameters); err != nil {
		return err
	}
	if err := c.CopyToHost(w.host, w.memory, w.stream); err != nil {
		return err
	}
	return c.SynchronizeStream(w.stream)
}

func TestLaunch(t *testing.T) {
	library, _ := emu.Driver(t)
	e := executorOn(t, library)
	w := prepare(t, e, "fill_up")
	do(t, e, func(c *driver.Context) error { return w.launch(c, w.memory, 64, 0) })
	for i, v := range words(w.host) {
		if v != float32(i) {
			t.Fatalf("element %d is %g", i, v)
		}
	}
}

// TestGraph records a launch and runs it twice.
func TestGraph(t *testing.T) {
	library, _ := emu.Driver(t)
	e := executorOn(t, library)
	w := prepare(t, e, "fill_up")
	do(t, e, func(c *driver.Context) error {
		if err := c.BeginCapture(w.stream); err != nil {
			return err
		}
		parameters := []uint64{uint64(w.memory), 64}
		if err := c.Launch(w.function, driver.Dim3{X: 1, Y: 1, Z: 1}, driver.Dim3{X: 64, Y: 1, Z: 1}, 0, w.stream, parameters); err != nil {
			return err
		}
		graph, err := c.EndCapture(w.stream)
		if err != nil {
			return err
		}
		exec, err := c.Instantiate(graph)
		if err != nil {
			return err
		}
		if err := c.DestroyGraph(graph); err != nil {
			return err
		}
		for range 2 {
			if err := c.Zero(w.memory, 64*4, w.stream); err != nil {
				return err
			}
			if err := c.LaunchGraph(exec, w.stream); err != nil {
				return err
			}
			if err := c.CopyToHost(w.host, w.memory, w.stream); err != nil {
				return err
			}
			if err := c.SynchronizeStream(w.stream); err != nil {
				return err
			}
			if v := words(w.host); v[1] != 1 || v[63] != 63 {
				t.Errorf("got %g, %g", v[1], v[63])
			}
		}
		return c.DestroyExec(exec)
	})
}

func TestEvents(t *testing.T) {
	library, _ := emu.Driver(t)
	e := executorOn(t, library)
	do(t, e, func(c *driver.Context) error {
		s, err := c.NewStream(0)
		if err != nil {
			return err
		}
		other, err := c.NewStream(-1)
		if err != nil {
			return err
		}
		from, err := c.NewEvent(true)
		if err != nil {
			return err
		}
		to, err := c.NewEvent(true)
		if err != nil {
			return err
		}
		if err := c.RecordEvent(from, s); err != nil {
			return err
		}
		if err := c.RecordEvent(to, s); err != nil {
			return err
		}
		if err := c.WaitEvent(other, to); err != nil {
			return err
		}
		if err := c.SynchronizeStream(other); err != nil {
			return err
		}
		if done, err := c.EventDone(to); !done || err != nil {
			t.Error("not passed, though another stream waited for it:", err)
		}
		if took, err := c.Elapsed(from, to); took < 0 || err != nil {
			t.Error(took, err)
		}
		if err := c.DestroyEvent(from); err != nil {
			return err
		}
		if err := c.DestroyStream(other); err != nil {
			return err
		}
		return c.SynchronizeEvent(to)
	})
}

func TestFunctionAttributes(t *testing.T) {
	library, _ := emu.Driver(t)
	e := executorOn(t, library)
	w := prepare(t, e, "fill_up")
	do(t, e, func(c *driver.Context) error {
		if n, err := c.Occupancy(w.function, 64, 0); n < 1 || err != nil {
			t.Errorf("%d blocks a multiprocessor, %v", n, err)
		}
		if err := c.SetAttribute(w.function, driver.FuncMaxDynamicBytes, 50<<10); err != nil {
			t.Error(err)
		}
		_, err := c.Attribute(w.function, driver.FuncRegisters)
		return err
	})
}
