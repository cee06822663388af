package batcher

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// turnUnderWay gathers a TurnEvent.
type turnUnderWay struct {
	serial int // of the turn; 0 when there is none to report
	began  time.Time
	ended  time.Time // its last batch's end so far
	event  TurnEvent
}

// loop runs batches until there is nothing left to do after Close, or the batcher is stopped.
func (b *Batcher[W]) loop() {
	defer close(b.stopped)
	defer b.device.leave()
	defer b.stop(ErrClosed) // leaves nobody waiting, even if a runner ends the goroutine
	for {
		batch, ctx := b.next()
		if batch == nil {
			return
		}
		fatal := b.run(ctx, batch)
		if fatal != nil {
			b.stop(fmt.Errorf("%w: %w", ErrClosed, fatal))
			return
		}
	}
}

// next waits for the device, then forms a batch for it, so that nothing is decided before it can run; nil when there
// will be no more. The device is the batcher's as long as there is a batch.
func (b *Batcher[W]) next() (batch *Batch[W], ctx context.Context) {
	for {
		b.mu.Lock()
		if b.cause != nil {
			b.mu.Unlock()
			b.letGo()
			return nil, nil
		}
		now := b.clock.Now()
		until, hold := b.former.Hold(now)
		if hold && !b.closing {
			b.mu.Unlock()
			b.letGo()
			b.sleep(until.Sub(now))
			continue
		}
		if len(b.calls) > 0 && !b.owns() {
			b.mu.Unlock()
			b.acquire()
			continue
		}
		var ended []*Item[W]
		b.former.SetShared(b.device.isShared())
		batch, ended = b.former.Next(now)
		b.drop(ended)
		b.tell()
		report := func() {}
		if batch == nil || batch.Turn != b.turn.serial {
			report = b.closeTurn()
		}
		if batch != nil {
			ctx = b.start(batch, now)
		}
		closing := b.closing
		b.mu.Unlock()
		report()
		if batch != nil {
			return batch, ctx
		}
		b.letGo()
		if closing {
			return nil, nil
		}
		<-b.wake
	}
}

// acquire waits until the device is the batcher's, or the batcher is stopped.
func (b *Batcher[W]) acquire() {
	if b.granted == nil {
		b.granted = b.device.ask(&b.tenant, b.clock.Now())
	}
	for !b.isStopped() {
		select {
		case <-b.granted:
			return
		case <-b.wake:
		}
	}
}

// owns reports whether the device is the batcher's.
func (b *Batcher[W]) owns() bool {
	select {
	case <-b.granted:
		return true
	default:
		return false
	}
}

// letGo gives back a device on which nothing was run, or no longer waits for it.
func (b *Batcher[W]) letGo() {
	if b.granted != nil {
		b.device.withdraw(&b.tenant, b.clock.Now())
		b.granted = nil
	}
}

// isWanted reports whether anybody waits.
func (b *Batcher[W]) isWanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.calls) > 0
}

func (b *Batcher[W]) isStopped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause != nil
}

// sleep returns after d, or earlier when there may be something to do.
func (b *Batcher[W]) sleep(d time.Duration) {
	fired, stop := b.clock.NewTimer(d)
	defer stop()
	select {
	case <-fired:
	case <-b.wake:
	}
}

// closeTurn ends the turn noted last, if any, and returns what tells the observer, to be called without the lock.
func (b *Batcher[W]) closeTurn() (report func()) {
	if b.turn.serial == 0 {
		return func() {}
	}
	event := b.turn.event
	event.Length = b.turn.ended.Sub(b.turn.began)
	b.turn = turnUnderWay{}
	return func() { b.observer.TurnDone(event) }
}

// noteTurn begins to gather the event of a batch's turn, or goes on. The lock is held.
func (b *Batcher[W]) noteTurn(batch *Batch[W], now time.Time) {
	t := b.former.cur
	if b.turn.serial != batch.Turn {
		b.turn = turnUnderWay{serial: batch.Turn, began: now,
			event: TurnEvent{Lane: batch.Lane, Owed: t.owed, Promoted: t.promoted}}
		if batch.Lane == Clips {
			b.turn.event.CapMillis = b.former.Cap()
		}
	}
	b.turn.event.Batches++
}

// run runs a batch to its end, whatever the runner does. It returns an error that wraps ErrFatal if the batch had one.
func (b *Batcher[W]) run(ctx context.Context, batch *Batch[W]) (fatal error) {
	began := b.clock.Now()
	defer func() { // even if a runner ends the goroutine
		now := b.clock.Now()
		b.granted = b.device.done(&b.tenant, now.Sub(began), b.isWanted(), now)
	}()
	b.device.begin(batch.Lane)
	err := b.callRunner(ctx, batch)

	b.mu.Lock()
	b.failRest(ctx, err)
	now := b.clock.Now()
	event := BatchEvent{
		Lane:       batch.Lane,
		Requests:   b.batch.requests,
		Windows:    batch.NumWindows,
		Added:      batch.Added,
		Backfilled: batch.Backfilled,
		MaxBatch:   b.config.MaxBatch,
		CostMillis: batch.CostMillis,
		Failed:     b.batch.failed,
		Run:        now.Sub(began),
	}
	b.turn.event.Requests, b.turn.event.CostMillis = b.former.cur.size, b.former.cur.cost
	b.turn.ended = now
	b.drop(b.former.Done(now))
	fatal = b.batch.fatal
	b.batch.cancel()
	b.batch = batchUnderWay[W]{}
	b.mu.Unlock()

	b.observer.BatchDone(event)
	b.mu.Lock()
	b.tell()
	b.mu.Unlock()
	return fatal
}

// drop completes the calls whose requests the Former found to be at their end. The lock is held.
func (b *Batcher[W]) drop(ended []*Item[W]) {
	for _, it := range ended {
		if c := b.calls[it]; c != nil {
			b.complete(c, it.Err())
		}
	}
}

// isFatal reports whether no later batch can succeed.
func isFatal(err error) bool { return errors.Is(err, ErrFatal) }
