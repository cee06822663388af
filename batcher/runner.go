package batcher

import (
	"context"
	"fmt"
)

// StepRunner runs windows on a device, step by step, so that a window that ends early makes room for another.
type StepRunner[W any] interface {
	// Run runs a batch of 1 to MaxBatch windows to its end. As each window ends it calls done, once, with what went
	// wrong or nil. An error reaches only the request that owns the window, and takes the rest of that request's windows
	// off. A window that Run returns without having called done for it has failed, and so have all of these if it
	// panics. An error that wraps [ErrFatal] stops the batcher.
	//
	// Between steps, when places are free, Run may call more, which returns at most free windows that join the batch: they
	// are run like the others. It may return none, and another time some.
	//
	// Windows are told apart by ==. ctx ends when every request in the batch has hung up, or when the batcher is stopped
	// hard; Run should then return soon. The windows of a request that hung up alone still run, unless they are
	// [Dropper]s; what becomes of them is nobody's concern. Run is never called twice at a time; more and done only from within it, one call at a time. The
	// slices are the runner's to keep.
	Run(ctx context.Context, batch []W, more func(free int) []W, done func(w W, err error))
}

// Dropper is a window that wants to know when nobody waits for it any more, so that its runner can end it at the next
// step and has its place free.
type Dropper interface {
	// Drop is called at most once, while a batch with the window runs, by any goroutine. It must be quick and must not
	// call the batcher.
	Drop()
}

// Runner runs windows on a device, a whole batch at a time.
type Runner[W any] interface {
	// Run runs one batch of 1 to MaxBatch windows to its end and reports, window by window, what went wrong: either
	// nil (all went well) or one entry a window, nil where it went well. Any other length fails the whole batch, and so
	// does a panic. For the rest it is as [StepRunner].
	Run(ctx context.Context, batch []W) []error
}

// wholeBatches makes a StepRunner of a Runner.
type wholeBatches[W any] struct{ runner Runner[W] }

func (r wholeBatches[W]) Run(ctx context.Context, batch []W, _ func(int) []W, done func(W, error)) {
	errs := r.runner.Run(ctx, batch)
	switch len(errs) {
	case len(batch):
	case 0:
		errs = make([]error, len(batch))
	default:
		err := fmt.Errorf("batcher: runner gave %d results for %d windows", len(errs), len(batch))
		errs = make([]error, len(batch))
		for i := range errs {
			errs[i] = err
		}
	}
	for i, w := range batch {
		done(w, errs[i])
	}
}
