package batcher

import (
	"context"
	"sync"
	"time"
)

// Batcher runs the requests of many callers on one runner, a batch at a time. Its methods are safe for concurrent use.
//
// Callers and the loop share the Former under one lock: callers add and remove, the loop alone forms batches. The
// lock is not held while a batch runs, so that who arrives or hangs up meanwhile does so at once.
type Batcher[W comparable] struct {
	runner   Runner[W]
	config   Config
	clock    Clock
	observer Observer
	device   *Device
	tenant   tenant
	granted  <-chan struct{} // closed when the device is the batcher's; nil when it has not asked. The loop's own

	wake    chan struct{} // there may be something to do; holds one
	stopped chan struct{} // closed when the loop has ended

	mu       sync.Mutex
	former   *Former[W]
	calls    map[*Item[W]]*call[W] // everybody who waits in Do
	bytes    int64                 // that they hold
	closing  bool                  // admit no more
	cause    error                 // set when stopped hard: what everybody gets
	batch    batchUnderWay[W]
	turn     turnUnderWay
	finished []*call[W] // ended, to be told once the observer knows
}

// call is one Do under way.
type call[W any] struct {
	item    Item[W]
	arrived time.Time
	started bool   // a window of it has been in a batch
	running int    // windows of it in the batch that runs
	batch   uint64 // the last one that it had a part in
	joined  time.Time
	stats   Stats
	err     error
	done    chan struct{} // closed when stats and err are final
}

// New returns a Batcher that runs batches on r until Close.
func New[W comparable](r Runner[W], c Config) *Batcher[W] {
	c = c.withDefaults()
	b := &Batcher[W]{
		runner:   r,
		config:   c,
		clock:    c.Clock,
		observer: c.Observer,
		device:   c.Device,
		wake:     make(chan struct{}, 1),
		stopped:  make(chan struct{}),
		former:   NewFormer[W](c),
		calls:    make(map[*Item[W]]*call[W]),
	}
	b.device.join()
	go b.loop()
	return b
}

// Do has a request run and returns when it's done, has failed, or ctx is done. The error is nil or one of these:
//
//   - ErrQueueFull, as a *BusyError: not admitted.
//   - ErrClosed: not admitted, or the batcher was stopped; wraps ErrFatal too if the runner was the reason.
//   - ctx.Err(), or ErrDeadline: the request has left its lane. A batch that holds windows of it may run on, so these
//     must stay readable, but its Work is not called again.
//   - what the runner said of the request's first window that went wrong, or a *PanicError.
//   - a request that breaks a field's contract is told which.
//
// Stats are valid in every case.
func (b *Batcher[W]) Do(ctx context.Context, req Request[W]) (Stats, error) {
	stats, err := b.do(ctx, req)
	b.observer.RequestDone(RequestEvent{req.Lane, req.Caller, stats, err})
	return stats, err
}

func (b *Batcher[W]) do(ctx context.Context, req Request[W]) (Stats, error) {
	if err := req.check(); err != nil {
		return Stats{}, err
	}
	if err := ctx.Err(); err != nil {
		return Stats{}, err
	}
	c, err := b.admit(req)
	if err != nil {
		return Stats{}, err
	}
	var late <-chan time.Time
	if req.Deadline > 0 {
		timer, stop := b.clock.NewTimer(req.Deadline)
		defer stop()
		late = timer
	}
	select {
	case <-c.done:
	case <-ctx.Done():
		b.abandon(c, ctx.Err())
	case <-late:
		b.abandon(c, ErrDeadline)
	}
	return c.stats, c.err
}

// abandon ends a call before its request is done, unless that has just happened.
func (b *Batcher[W]) abandon(c *call[W], err error) {
	b.mu.Lock()
	b.former.Remove(&c.item)
	b.complete(c, err)
	b.tell()
	b.mu.Unlock()
	<-c.done
}

// Depth returns how many requests of each lane wait: those of which no window has begun to run.
func (b *Batcher[W]) Depth() (clips, recordings int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.former.Waiting(Clips), b.former.Waiting(Recordings)
}

// Close admits no more requests and waits until those admitted are done. If ctx ends before, it stops hard: everybody
// who waits gets ErrClosed, the batch that runs is told to end, and Close returns ctx.Err(). Either way no batch runs
// any more when it returns, so that what the Runner uses can be freed. Closing again waits again.
func (b *Batcher[W]) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	b.signal()
	select {
	case <-b.stopped:
		return nil
	case <-ctx.Done():
	}
	b.stop(ErrClosed)
	<-b.stopped
	return ctx.Err()
}

// signal tells the loop to look again.
func (b *Batcher[W]) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// complete ends a call that the Former has dropped; the first to do so decides. Whoever called Do learns of it from
// tell. The lock is held.
func (b *Batcher[W]) complete(c *call[W], err error) {
	if b.calls[&c.item] != c {
		return
	}
	delete(b.calls, &c.item)
	b.bytes -= c.item.Bytes
	if c.running > 0 {
		b.dropWindows(&c.item)
		c.running = 0
		c.stats.Run += b.clock.Now().Sub(c.joined)
		if b.batch.live--; b.batch.live == 0 && b.batch.open > 0 {
			b.batch.cancel()
		}
	}
	if !c.started {
		c.stats.Queue = b.clock.Now().Sub(c.arrived)
	}
	c.stats.TurnsWaited = c.item.TurnsWaited()
	c.err = err
	b.finished = append(b.finished, c)
}

// tell wakes those whose calls are complete. The lock is held.
func (b *Batcher[W]) tell() {
	for i, c := range b.finished {
		close(c.done)
		b.finished[i] = nil
	}
	b.finished = b.finished[:0]
}

// stop ends everything now; everybody who waits, and whoever comes later, gets cause. Since that leaves nobody in the
// batch that runs, its context ends too.
func (b *Batcher[W]) stop(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause == nil {
		b.cause = cause
	}
	for it, c := range b.calls {
		b.former.Remove(it)
		b.complete(c, b.cause)
	}
	b.tell()
	b.signal()
}
