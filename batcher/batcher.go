// Package batcher decides what a device runs next, so that short clips never wait for long recordings and no
// recording starves behind clips.
//
// It knows no audio, no model and no device: a request is a lane, a cost and a [Work] that hands out windows; a
// [Runner] runs windows; time comes from a [Clock].
//
// # Terms
//
//   - window: what the device runs as one row of a batch, at most 30 s of audio. Its type W belongs to the caller.
//   - cost: prepared audio in milliseconds, all windows of a request together.
//   - clip, recording: a request of at most 30 s, a longer one. Each kind waits in a [Lane] of its own.
//   - turn: what one lane is given before the other has its go; one batch or several.
//   - batch: the windows that run together, at most [Config].MaxBatch.
//   - cost cap: the most that the clips of one turn may cost together.
//   - owed: a clip that a turn could not fit is owed its place in a later one.
//   - batch wait: how long a lone clip may be held for company.
//
// # Flow
//
//	Do ─► admission (queue limit) ─► lane ─► turn ─► batch ─► Runner ─► Do returns
//	                                  ▲        ▲        │
//	             who hangs up leaves ─┴────────┘        └─ the rest of a chain joins the turn's next batch
//
// [Former] holds the lanes and forms turns and batches. It is deterministic, starts no goroutine and reads no clock,
// so that a simulator can drive it. [Batcher] adds the clock, admission and one goroutine that runs one batch after
// the other.
//
// # Rules
//
//  1. Clips and recordings wait in two lanes. While both have work the lanes alternate, turn by turn: the lane not
//     served last goes next, and at first the one with the older head.
//  2. A recording's turn is one recording, alone, in arrival order. No clip shares a batch with a recording. Its
//     windows run in groups of at most MaxBatch inside the turn.
//  3. A clip turn serves clips that were pending when the turn began, in batches of at most MaxBatch clips. The turn's
//     clips together cost at most the cost cap; a batch's audio never exceeds MaxBatchAudioMillis (recordings are
//     exempt). Order: what is owed, by arrival; then the rest by (cost, arrival); filling stops at the first that does
//     not fit. A turn always serves one clip, even one that alone exceeds the cap. A clip that arrives during a turn
//     waits for the next.
//  4. What a clip turn could not fit is owed. Every later clip turn serves the oldest owed clip, whatever it costs, then
//     more owed ones, oldest first, while they fit the cap together, and only then newer clips. So a clip is served
//     within the first n + 1 clip turns after it arrives, where n counts it and the older clips still pending when the
//     first of those turns ended: each later turn serves at least the oldest of these, and no later arrival joins them.
//
// Outside these: nothing is reordered by age, the cap is fixed, and a batch is formed only when the one before it
// ended.
//
// # Company
//
// Clients that were answered together tend to ask again together. So a clip that is alone when the device has nothing
// to do is held until the batch wait after its arrival is over, and whoever comes meanwhile shares its turn. The hold
// ends early when a batch or the turn is full, or a recording comes. Clips that already have company when a turn ends
// are not held.
//
// # Clips of several windows
//
// Most clips are one window. One that hands out more counts as its windows: they share a batch when they fit one, and
// wait for the turn's next batch when the places left are too few. A clip that is a chain (or has more windows than a
// batch has places) stays inside its turn: after each batch its next windows go first in the turn's next batch, and the
// turn ends when all its clips are done. In every batch that holds a part of it, a clip counts with its whole cost
// towards MaxBatchAudioMillis.
package batcher

import (
	"context"
	"sync"
	"time"
)

// Batcher runs the requests of many callers on one Runner, a batch at a time. Its methods are safe for concurrent use.
//
// Callers and the loop share the Former under one lock: callers add and remove, the loop alone forms batches. The
// lock is never held while a batch runs, so that who arrives or hangs up meanwhile does so at once.
type Batcher[W any] struct {
	runner     Runner[W]
	clock      Clock
	observer   Observer
	maxBatch   int
	capMillis  int64
	queueLimit int

	wake    chan struct{} // there may be something to do; holds one
	stopped chan struct{} // closed when the loop has ended

	mu      sync.Mutex
	former  *Former[W]
	calls   map[*Item[W]]*call[W] // everybody who waits in Do
	closing bool                  // admit no more
	cause   error                 // set when stopped hard: what everybody gets
	live    int                   // calls with a part in the batch that runs
	cancel  context.CancelFunc    // ends that batch; nil if none runs
	turn    turnUnderWay
}

// call is one Do under way.
type call[W any] struct {
	item    Item[W]
	arrived time.Time
	started bool // a window of it has been in a batch
	inBatch bool // it has a part in the batch that runs
	stats   Stats
	err     error
	done    chan struct{} // closed when stats and err are final
}

// New returns a Batcher that runs batches on r until Close.
func New[W any](r Runner[W], c Config) *Batcher[W] {
	c = c.withDefaults()
	b := &Batcher[W]{
		runner:     r,
		clock:      c.Clock,
		observer:   c.Observer,
		maxBatch:   c.MaxBatch,
		capMillis:  c.CostCapMillis,
		queueLimit: c.QueueLimit,
		wake:       make(chan struct{}, 1),
		stopped:    make(chan struct{}),
		former:     NewFormer[W](c),
		calls:      make(map[*Item[W]]*call[W]),
	}
	go b.loop()
	return b
}

// Do has a request run and returns when it's done, has failed, or ctx is done. The error is nil or one of these:
//
//   - ErrQueueFull: not admitted.
//   - ErrClosed: not admitted, or the batcher was stopped; wraps ErrFatal too if the Runner was the reason.
//   - ctx.Err(): the request has left its lane. A batch that holds windows of it may run on, so these must stay
//     readable, but its Work is not called again.
//   - what the Runner said of the request's first window that went wrong, or a *PanicError.
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
	select {
	case <-c.done:
	case <-ctx.Done():
		b.mu.Lock()
		b.former.Remove(&c.item)
		b.complete(c, ctx.Err())
		b.mu.Unlock()
	}
	return c.stats, c.err
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

func (b *Batcher[W]) admit(req Request[W]) (*call[W], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.cause != nil:
		return nil, b.cause
	case b.closing:
		return nil, ErrClosed
	case b.former.Waiting(Clips)+b.former.Waiting(Recordings) >= b.queueLimit:
		return nil, ErrQueueFull
	}
	c := &call[W]{item: Item[W]{Request: req}, arrived: b.clock.Now(), done: make(chan struct{})}
	b.calls[&c.item] = c
	b.former.Add(&c.item, c.arrived)
	b.signal()
	return c, nil
}

// signal tells the loop to look again.
func (b *Batcher[W]) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// complete ends a call that the Former has dropped; the first to do so decides. The lock is held.
func (b *Batcher[W]) complete(c *call[W], err error) {
	if b.calls[&c.item] != c {
		return
	}
	delete(b.calls, &c.item)
	if c.inBatch {
		c.inBatch = false
		if b.live--; b.live == 0 {
			b.cancel()
		}
	}
	if !c.started {
		c.stats.Queue = b.clock.Now().Sub(c.arrived)
	}
	c.stats.TurnsWaited = c.item.TurnsWaited()
	c.err = err
	close(c.done)
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
	b.signal()
}
