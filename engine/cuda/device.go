package cuda

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// Device is a GPU as one model sees it. It's safe for concurrent use; operations of one Device run one after another.
type Device struct {
	*machine

	mu       sync.Mutex
	queue    group
	pages    pages
	graphs   *graphs
	plans    plans
	failures failures
	owned    map[*buffer]bool
	closed   bool

	staging       staging
	scratchBuffer *buffer // nil: none was needed yet
	fetched       []byte  // pinned memory for results; the executor's thread alone makes it
	ahead         ahead
}

// machine is what the devices on one GPU share.
type machine struct {
	config   Config
	info     engine.DeviceInfo
	gpu      driver.GPU
	driver   *driver.Driver
	executor *driver.Executor
	stream   driver.Stream
	memory   *memory
	kernels  *kernelSet
	blas     *blas                 // nil: none
	noBLAS   error                 // why there is none, where it was looked for
	lost     atomic.Pointer[error] // why nothing works any more

	mu    sync.Mutex
	users int // devices that are open
}

// New opens the driver and a GPU. The error is a *[driver.Refusal] where the driver or the GPU is the reason.
func New(c Config) (*Device, error) {
	drv, err := driver.Open(c.Driver)
	if err != nil {
		return nil, err
	}
	gpus, err := drv.Devices()
	if err != nil {
		return nil, err
	}
	if c.Ordinal < 0 || c.Ordinal >= len(gpus) {
		return nil, &driver.Refusal{Reason: driver.ErrNoGPU,
			Detail: fmt.Sprintf("GPU %d was asked for, there are %d", c.Ordinal, len(gpus))}
	}
	gpu := gpus[c.Ordinal]
	if c.Storage == BF16 && gpu.Capability() < 80 {
		return nil, &driver.Refusal{Reason: driver.ErrUnusable, Detail: gpu.Name + " has no bf16", Hint: "use f16"}
	}
	executor, err := drv.NewExecutor(gpu)
	if err != nil {
		return nil, err
	}
	m := &machine{config: c, gpu: gpu, driver: drv, executor: executor, memory: newMemory(executor, c),
		kernels: newKernelSet(gpu)}
	if err := executor.Do(func(ctx *driver.Context) (err error) { m.stream, err = ctx.NewStream(0); return err }); err != nil {
		executor.Close()
		return nil, &driver.Refusal{Reason: driver.ErrUnusable, Detail: gpu.Name, Cause: err}
	}
	if m.blas, err = m.openBLAS(); err != nil {
		m.close()
		return nil, err
	}
	m.info = m.describe()
	d, err := m.newDevice()
	if err != nil {
		m.close()
		return nil, err
	}
	return d, nil
}

// describe says what the device is.
func (m *machine) describe() engine.DeviceInfo {
	products := "own matrix products"
	if m.blas != nil {
		products = "cuBLASLt " + m.blas.Version()
	}
	return engine.DeviceInfo{
		Kind: "cuda",
		Name: m.gpu.Name,
		Detail: fmt.Sprintf("compute capability %d.%d, %d MiB, %s, CUDA %s, %s",
			m.gpu.Major, m.gpu.Minor, m.gpu.MemoryBytes>>20, m.config.Storage, m.driver.Version(), products),
		// A window's matrix products are about 120 tiles wide; the more multiprocessors, the more windows fill them.
		EncodeGroup: min(8, max(1, m.gpu.SMs/30)),
	}
}

// newDevice makes a device on the machine.
func (m *machine) newDevice() (*Device, error) {
	d := &Device{machine: m, graphs: newGraphs(m.config.NoGraphs), owned: map[*buffer]bool{}}
	block, err := d.alloc(stagingBytes/4, f32)
	if err != nil {
		return nil, err
	}
	d.staging.block = block.address()
	m.mu.Lock()
	m.users++
	m.mu.Unlock()
	return d, nil
}

// Model makes a further device on the same GPU, for one model: what is made on it goes back when it is closed.
func (d *Device) Model() (*Device, error) {
	if err := d.lostError(); err != nil {
		return nil, err
	}
	return d.newDevice()
}

// Close gives back everything that was made on the device, after what is queued. With the last device the GPU
// is let go of. A second call does nothing.
func (d *Device) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.closed = true
	d.forgetPlans()
	_ = d.executor.Do(func(c *driver.Context) error { // at the end nobody is left to be told
		_ = c.SynchronizeStream(d.stream)
		d.graphs.close(c)
		d.pages.close(c)
		d.staging.close(c)
		d.ahead.close(c)
		if d.fetched != nil {
			_ = c.HostFree(d.fetched)
		}
		return nil
	})
	for b := range d.owned {
		d.free(b)
	}
	d.machine.mu.Lock()
	d.users--
	last := d.users == 0
	d.machine.mu.Unlock()
	if last {
		d.machine.close()
	}
}

// close lets go of the GPU.
func (m *machine) close() {
	_ = m.executor.Do(func(c *driver.Context) error {
		m.kernels.unload(c)
		if m.blas != nil {
			_ = m.blas.Stop(c)
		}
		return c.DestroyStream(m.stream)
	})
	m.executor.Close()
}

// Info says what the device is.
func (d *Device) Info() engine.DeviceInfo { return d.info }

// Time runs f, which queues work, and returns how long the GPU took for it.
func (d *Device) Time(f func()) (time.Duration, error) {
	var from, to driver.Event
	mark := func(e *driver.Event) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.flush()
		d.fail(d.executor.Do(func(c *driver.Context) (err error) {
			if *e, err = c.NewEvent(true); err != nil {
				return err
			}
			return c.RecordEvent(*e, d.stream)
		}))
	}
	mark(&from)
	f()
	mark(&to)
	if err := d.Sync(); err != nil {
		return 0, err
	}
	var took time.Duration
	err := d.executor.Do(func(c *driver.Context) (err error) {
		took, err = c.Elapsed(from, to)
		_ = c.DestroyEvent(from) // they have passed
		_ = c.DestroyEvent(to)
		return err
	})
	return took, err
}
