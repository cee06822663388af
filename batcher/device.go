package batcher

import (
	"slices"
	"sync"
	"time"
)

// shortAbsence is how long a batcher may have nothing to run and still count as there: clients that were answered ask
// again a moment later.
const shortAbsence = time.Second

// Device is what the batchers of several models share: one batch runs on it at a time. Of those that have something to
// run, the one that has had the least device time goes next, so that each gets an equal part for as long as it needs
// it, whatever its batches take. Time that a batcher leaves unused is not saved up for later. Its methods are safe for
// concurrent use.
type Device struct {
	mu      sync.Mutex
	tenants int // batchers that use it
	running *tenant
	clips   chan struct{} // closed when the clips' batch that runs ends; nil while none runs
	waiting []*tenant     // in the order in which they asked
	least   time.Duration // what the one that runs had used when it began
}

// NewDevice returns an idle device.
func NewDevice() *Device { return &Device{} }

// tenant is one batcher's place on a device.
type tenant struct {
	used    time.Duration // device time that it has had, or more if it came late or was away
	left    time.Time     // when it last had nothing to run
	granted chan struct{}
}

// join and leave count those who use the device.
func (d *Device) join() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tenants++
}

func (d *Device) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tenants--
}

// isShared reports whether others use the device too.
func (d *Device) isShared() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.tenants > 1
}

// ask returns a channel that is closed when the tenant has the device. It must then be
// done with it, or withdraw before.
func (d *Device) ask(t *tenant, now time.Time) (granted <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.Sub(t.left) > shortAbsence {
		t.used = max(t.used, d.least)
	}
	d.enqueue(t)
	d.grant()
	return t.granted
}

func (d *Device) enqueue(t *tenant) {
	t.granted = make(chan struct{})
	d.waiting = append(d.waiting, t)
}

// grant gives a free device to whoever has had least, the first to ask among equals. The lock is held.
func (d *Device) grant() {
	if d.running != nil || len(d.waiting) == 0 {
		return
	}
	next := 0
	for i, t := range d.waiting {
		if t.used < d.waiting[next].used {
			next = i
		}
	}
	t := d.waiting[next]
	d.waiting = slices.Delete(d.waiting, next, next+1)
	d.running, d.least = t, t.used
	close(t.granted)
}

// withdraw takes back what was asked for; a device that has been granted meanwhile goes to the next.
func (d *Device) withdraw(t *tenant, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.left = now
	if i := slices.Index(d.waiting, t); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
		return
	}
	d.running = nil
	d.grant()
}

// begin says whose turn's batch the device runs now.
func (d *Device) begin(lane Lane) {
	if lane != Clips {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clips = make(chan struct{})
}

// ClipsRun returns a channel that is closed when the clips' batch that runs now ends, or nil while none runs. Where the
// device is the CPU, work for recordings beside it (decoding) can wait for that, so that the clips' turn is theirs
// alone.
func (d *Device) ClipsRun() (ended <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.clips
}

// done gives the device back after so much time on it. Who has more to run asks again in the same breath, and may be
// the next too; the channel is nil for who has not.
func (d *Device) done(t *tenant, took time.Duration, more bool, now time.Time) (granted <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.used += took
	t.left = now
	d.running = nil
	if d.clips != nil {
		close(d.clips)
		d.clips = nil
	}
	if more {
		d.enqueue(t)
		granted = t.granted
	}
	d.grant()
	return granted
}

// rivals is how many others wait for the device.
func (d *Device) rivals(t *tenant) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.waiting)
	if slices.Contains(d.waiting, t) {
		n--
	}
	return n
}
