package batcher

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"
)

// errNoResult is what a window ends with when its runner says nothing of it.
var errNoResult = errors.New("batcher: runner returned without a result for a window")

// batchUnderWay is the batch that runs, as its callers see it.
type batchUnderWay[W comparable] struct {
	owners   map[W][]*Item[W]   // of the windows that have not ended; windows that look alike in their order
	open     int                // windows that have not ended
	live     int                // calls with a part in it
	requests int                // that had one
	failed   int                // windows that ended with an error
	fatal    error              // one of these errors, if no later batch can succeed
	cancel   context.CancelFunc // ends it
	ctx      context.Context
}

// start notes that a batch begins and returns the context it runs under. The lock is held.
func (b *Batcher[W]) start(batch *Batch[W], now time.Time) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	b.batch = batchUnderWay[W]{owners: make(map[W][]*Item[W]), ctx: ctx, cancel: cancel}
	b.join(batch.Parts, now)
	b.noteTurn(batch, now)
	return ctx
}

// join notes that windows become part of the batch. The lock is held.
func (b *Batcher[W]) join(parts []Part[W], now time.Time) {
	for _, p := range parts {
		c := b.calls[p.Item]
		if !c.started {
			c.started = true
			c.stats.Queue = now.Sub(c.arrived)
		}
		if c.running == 0 {
			c.joined = now
			b.batch.live++
		}
		if serial := b.former.batches; c.batch != serial {
			c.batch = serial
			c.stats.Batches++
			b.batch.requests++
		}
		c.running += len(p.Windows)
		c.stats.Windows += len(p.Windows)
		for _, w := range p.Windows {
			b.batch.owners[w] = append(b.batch.owners[w], p.Item)
		}
		b.batch.open += len(p.Windows)
	}
}

// callRunner has the batch run. The error says why windows may have been left without a result.
func (b *Batcher[W]) callRunner(ctx context.Context, batch *Batch[W]) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	b.runner.Run(ctx, batch.Windows(), b.more, b.windowDone)
	return errNoResult
}

// more gives the runner windows for free places.
func (b *Batcher[W]) more(free int) []W {
	b.mu.Lock()
	defer b.mu.Unlock()
	if free <= 0 || b.cause != nil || b.batch.ctx.Err() != nil {
		return nil
	}
	parts, ended := b.former.More(free)
	b.drop(ended)
	b.join(parts, b.clock.Now())
	b.tell()
	var windows []W
	for _, p := range parts {
		windows = append(windows, p.Windows...)
	}
	return windows
}

// windowDone takes a window's result from the runner.
func (b *Batcher[W]) windowDone(w W, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	owners := b.batch.owners[w]
	if len(owners) == 0 {
		return // not of this batch, or told twice
	}
	if b.batch.owners[w] = owners[1:]; len(owners) == 1 {
		delete(b.batch.owners, w)
	}
	b.end(owners[0], w, err)
	b.tell()
}

// end ends one window, or its part in the batch. The lock is held.
func (b *Batcher[W]) end(it *Item[W], w W, err error) {
	b.batch.open--
	unfinished := errors.Is(err, ErrUnfinished)
	if unfinished {
		err = nil
	}
	if err != nil {
		b.batch.failed++
		if isFatal(err) {
			b.batch.fatal = err
		}
	}
	c := b.calls[it]
	if c == nil { // hung up
		b.former.Finish(it, b.clock.Now())
		return
	}
	if err != nil {
		b.former.Remove(it)
		b.complete(c, err)
		return
	}
	now := b.clock.Now()
	ended := false
	if unfinished {
		b.former.Unfinished(it, w)
		c.stats.Windows-- // it joins once more
	} else {
		ended = b.former.Finish(it, now)
	}
	if c.running--; c.running == 0 {
		c.stats.Run += now.Sub(c.joined)
		if b.batch.live--; b.batch.live == 0 && b.batch.open > 0 {
			b.batch.cancel() // what is left belongs to those who hung up
		}
	}
	if ended {
		b.complete(c, it.Err())
	}
}

// dropWindows tells the windows of a request that has left that nobody waits for them. The lock is held.
func (b *Batcher[W]) dropWindows(it *Item[W]) {
	for w, owners := range b.batch.owners {
		if d, ok := any(w).(Dropper); ok && slices.Contains(owners, it) {
			d.Drop()
		}
	}
}

// failRest ends the windows that the runner has said nothing about. The lock is held.
func (b *Batcher[W]) failRest(ctx context.Context, err error) {
	if b.batch.open == 0 {
		return
	}
	if ctx.Err() != nil && errors.Is(err, errNoResult) {
		err = ctx.Err()
	}
	owners := b.batch.owners
	b.batch.owners = nil
	for w, items := range owners {
		for _, it := range items {
			b.end(it, w, err)
		}
	}
}
