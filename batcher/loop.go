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

// next waits for the next batch; nil when there will be none.
func (b *Batcher[W]) next() (*Batch[W], context.Context) {
	for {
		b.mu.Lock()
		if b.cause != nil {
			b.mu.Unlock()
			return nil, nil
		}
		now := b.clock.Now()
		until, hold := b.former.Hold(now)
		if hold && !b.closing {
			b.mu.Unlock()
			b.sleep(until.Sub(now))
			continue
		}
		batch, ended := b.former.Next(now)
		b.drop(ended)
		b.tell()
		report := func() {}
		if batch == nil || batch.Turn != b.turn.serial {
			report = b.closeTurn()
		}
		var ctx context.Context
		if batch != nil {
			ctx = b.start(batch, now)
		}
		closing := b.closing
		b.mu.Unlock()
		report()
		if batch != nil {
			return batch, ctx
		}
		if closing {
			return nil, nil
		}
		<-b.wake
	}
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
		b.turn = turnUnderWay{serial: batch.Turn, began: now, event: TurnEvent{Lane: batch.Lane, Owed: t.owed, Promoted: t.promoted}}
		if batch.Lane == Clips {
			b.turn.event.CapMillis = b.former.Cap()
		}
	}
	b.turn.event.Batches++
}

// run runs a batch to its end, whatever the runner does. It returns an error that wraps ErrFatal if the batch had one.
func (b *Batcher[W]) run(ctx context.Context, batch *Batch[W]) (fatal error) {
	began := b.clock.Now()
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
