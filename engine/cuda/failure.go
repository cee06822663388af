package cuda

import (
	"fmt"
	"sync"

	"hark/engine"
	"hark/engine/cuda/driver"
)

// failures keeps the first failure since the last wait. It's safe for concurrent use: the executor's thread and the
// device's callers meet here.
type failures struct {
	mu    sync.Mutex
	first error
}

// fail notes a failure; nil is none. One that is fatal loses the device.
func (d *Device) fail(err error) {
	if err == nil {
		return
	}
	err = d.failure(err)
	d.failures.mu.Lock()
	defer d.failures.mu.Unlock()
	if d.failures.first == nil {
		d.failures.first = err
	}
}

// failure is an error as callers see it: one that is fatal loses the device, and a want of memory, the driver's
// own included, is [engine.ErrOutOfMemory].
func (d *Device) failure(err error) error {
	if driver.IsOutOfMemory(err) {
		return fmt.Errorf("%w: %s: %w", engine.ErrOutOfMemory, d.info.Name, err)
	}
	if !driver.IsFatal(err) {
		return err
	}
	err = fmt.Errorf("%w: %s: %w", engine.ErrDeviceLost, d.info.Name, err)
	d.lost.CompareAndSwap(nil, &err)
	return err
}

// failed reports whether there is a failure that nobody has been told of, or the device
// is lost: then nothing is queued any more.
func (d *Device) failed() bool {
	d.failures.mu.Lock()
	defer d.failures.mu.Unlock()
	return d.failures.first != nil || d.lost.Load() != nil
}

// takeFailure returns the first failure and forgets it, unless the device is lost. The lock is held: an operation half
// of which was dropped must not go on as if nothing had been.
func (d *Device) takeFailure() error {
	d.failures.mu.Lock()
	defer d.failures.mu.Unlock()
	if err := d.lostError(); err != nil {
		return err
	}
	err := d.failures.first
	d.failures.first = nil
	return err
}

// lostError is why the device is lost, or nil.
func (d *Device) lostError() error {
	if err := d.lost.Load(); err != nil {
		return *err
	}
	return nil
}
