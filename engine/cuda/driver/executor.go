package driver

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"
)

// ErrClosed comes back from an executor that has been closed.
var ErrClosed = errors.New("driver: the executor is closed")

// Executor is the one thread that makes every call to a GPU. It's safe for concurrent use; what it is
// given runs in the order in which it came.
type Executor struct {
	mu     sync.RWMutex // held to send, and, for writing, to close
	closed bool
	jobs   chan func(*Context)
	ended  chan struct{}
}

// queuedJobs is how many jobs of [Executor.Go] may wait before its caller does.
const queuedJobs = 64

// NewExecutor makes the GPU's primary context and the thread that owns it. The error is a *[Refusal].
func (d *Driver) NewExecutor(g GPU) (*Executor, error) {
	if g.Capability() < OldestCapability {
		return nil, &Refusal{Reason: ErrUnusable, Detail: g.Name + " is older than Turing (compute capability 7.5)"}
	}
	e := &Executor{jobs: make(chan func(*Context), queuedJobs), ended: make(chan struct{})}
	started := make(chan error)
	go e.run(d, g, started)
	if err := <-started; err != nil {
		return nil, &Refusal{Reason: ErrUnusable, Detail: g.Name, Cause: err,
			Hint: "another process may hold the GPU, or all its memory; nvidia-smi lists them"}
	}
	return e, nil
}

// run is the thread. It is never unlocked, so it dies with the goroutine and takes the thread's current context along.
func (e *Executor) run(d *Driver, g GPU, started chan<- error) {
	runtime.LockOSThread()
	defer close(e.ended)
	c, err := d.newContext(g)
	started <- err
	if err != nil {
		return
	}
	for job := range e.jobs {
		job(c)
	}
	c.release()
}

// Do runs f on the executor's thread and returns its error, or [ErrClosed]. It must not be called from there.
func (e *Executor) Do(f func(*Context) error) error {
	var err error
	done := make(chan struct{})
	if !e.Go(func(c *Context) { defer close(done); err = f(c) }) {
		return ErrClosed
	}
	<-done
	return err
}

// Go has f run on the executor's thread, soon, and reports whether it will: not once the executor is closed.
func (e *Executor) Go(f func(*Context)) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return false
	}
	e.jobs <- f
	return true
}

// Close ends the thread after what it was given, and lets go of the GPU. A second call does nothing.
func (e *Executor) Close() {
	e.mu.Lock()
	already := e.closed
	e.closed = true
	e.mu.Unlock()
	if !already {
		close(e.jobs)
	}
	<-e.ended
}

// Context is a GPU's state, for functions that run on its executor. Its methods are the driver's functions.
type Context struct {
	d   *Driver
	gpu GPU

	// parameters is where a kernel's parameters lie during a launch, in C's memory: addresses of slots, then the slots.
	parameters *[2 * maxParameters]uint64
}

// newContext makes the GPU's primary context current on this thread.
func (d *Driver) newContext(g GPU) (*Context, error) {
	const blockingSync = 4 // CU_CTX_SCHED_BLOCKING_SYNC: the thread sleeps while it waits, instead of spinning
	// cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
	if err := d.check("cuDevicePrimaryCtxSetFlags_v2",
		call(d.fn.devicePrimaryCtxSetFlags, uintptr(g.handle), blockingSync)); err != nil {
		return nil, err
	}
	var handle uintptr
	// cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
	if err := d.check("cuDevicePrimaryCtxRetain",
		call(d.fn.devicePrimaryCtxRetain, uintptr(unsafe.Pointer(&handle)), uintptr(g.handle))); err != nil {
		return nil, err
	}
	c := &Context{d: d, gpu: g}
	// cuCtxSetCurrent(CUcontext ctx)
	err := d.check("cuCtxSetCurrent", call(d.fn.ctxSetCurrent, handle))
	if err == nil {
		var block []byte
		if block, err = c.HostAlloc(int(unsafe.Sizeof(*c.parameters))); err == nil {
			c.parameters = (*[2 * maxParameters]uint64)(unsafe.Pointer(unsafe.SliceData(block)))
			return c, nil
		}
	}
	call(d.fn.devicePrimaryCtxRelease, uintptr(g.handle))
	return nil, err
}

// release gives the context back. What it still holds, the driver frees.
func (c *Context) release() {
	// cuDevicePrimaryCtxRelease_v2(CUdevice dev)
	call(c.d.fn.devicePrimaryCtxRelease, uintptr(c.gpu.handle))
}

// GPU says which GPU it is.
func (c *Context) GPU() GPU { return c.gpu }

// Synchronize waits for everything on the GPU.
func (c *Context) Synchronize() error {
	return c.d.check("cuCtxSynchronize", call(c.d.fn.ctxSynchronize))
}
