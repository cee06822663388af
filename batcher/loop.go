package batcher

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
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
	defer b.stop(ErrClosed) // leaves nobody waiting, even if a Runner ends the goroutine
	for {
		batch, ctx := b.next()
		if batch == nil {
			return
		}
		began := b.clock.Now()
		errs := b.run(ctx, batch)
		if err := b.finish(batch, began, errs); err != nil {
			b.stop(fmt.Errorf("%w: %w", ErrClosed, err))
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
		batch, ended := b.former.Next()
		b.drop(ended)
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

// start notes that a batch begins and returns the context it runs under. The lock is held.
func (b *Batcher[W]) start(batch *Batch[W], now time.Time) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel, b.live = cancel, len(batch.Parts)
	for _, p := range batch.Parts {
		c := b.calls[p.Item]
		c.inBatch = true
		if !c.started {
			c.started = true
			c.stats.Queue = now.Sub(c.arrived)
		}
		c.stats.Batches++
		c.stats.Windows += len(p.Windows)
	}
	if b.turn.serial != batch.Turn {
		b.turn = turnUnderWay{serial: batch.Turn, began: now, event: TurnEvent{
			Lane:       batch.Lane,
			Requests:   b.former.turnSize,
			CostMillis: b.former.turnCost,
			Owed:       b.former.Owed(),
		}}
		if batch.Lane == Clips {
			b.turn.event.CapMillis = b.capMillis
		}
	}
	b.turn.event.Batches++
	return ctx
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

// run runs a batch and returns one error a window, whatever the Runner did.
func (b *Batcher[W]) run(ctx context.Context, batch *Batch[W]) (errs []error) {
	defer func() {
		if v := recover(); v != nil {
			errs = allFailed(batch.NumWindows, &PanicError{v, debug.Stack()})
		}
	}()
	errs = b.runner.Run(ctx, batch.Windows())
	switch len(errs) {
	case batch.NumWindows:
		return errs
	case 0:
		return make([]error, batch.NumWindows)
	}
	return allFailed(batch.NumWindows, fmt.Errorf("batcher: runner gave %d results for %d windows", len(errs), batch.NumWindows))
}

func allFailed(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// finish hands out what a batch came to. It returns an error that wraps ErrFatal if the batch had one.
func (b *Batcher[W]) finish(batch *Batch[W], began time.Time, errs []error) (fatal error) {
	now := b.clock.Now()
	event := BatchEvent{
		Lane:       batch.Lane,
		Requests:   len(batch.Parts),
		Windows:    batch.NumWindows,
		MaxBatch:   b.maxBatch,
		CostMillis: batch.CostMillis,
		Run:        now.Sub(began),
	}
	for _, err := range errs {
		if err != nil {
			event.Failed++
		}
		if errors.Is(err, ErrFatal) {
			fatal = err
		}
	}

	b.observer.BatchDone(event)

	b.mu.Lock()
	for _, p := range batch.Parts {
		mine := errs[:len(p.Windows)]
		errs = errs[len(p.Windows):]
		c := b.calls[p.Item]
		if c == nil { // hung up
			continue
		}
		c.stats.Run += event.Run
		if err := firstError(mine); err != nil {
			b.former.Remove(p.Item)
			b.complete(c, err)
		}
	}
	b.drop(b.former.Done())
	for _, p := range batch.Parts {
		if c := b.calls[p.Item]; c != nil {
			c.inBatch = false
		}
	}
	b.live = 0
	b.cancel()
	b.turn.ended = now
	b.mu.Unlock()
	return fatal
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// drop completes the calls whose requests the Former found to be at their end. The lock is held.
func (b *Batcher[W]) drop(ended []*Item[W]) {
	for _, it := range ended {
		b.complete(b.calls[it], it.Err())
	}
}
