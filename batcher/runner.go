package batcher

import "context"

// Runner runs windows on a device, step by step where it can, so that a window that ends early makes room for another.
type Runner[W any] interface {
	// Run runs a batch of 1 to MaxBatch windows to its end. As each window ends it calls done, once, with what went
	// wrong or nil. An error reaches only the request that owns the window, and takes the rest of that request's
	// windows off. A window that Run returns without having called done for it has failed, and so have all of these if
	// it panics. An error that wraps [ErrFatal] stops the batcher. [ErrUnfinished] is no failure: the window is run again,
	// from where it stands, so that one that takes far longer than others does not keep its batch going.
	//
	// Between steps, when places are free, Run may call more, which returns at most free windows that join the batch:
	// they are run like the others. It may return none, and another time some.
	//
	// Windows are told apart by ==. ctx ends when every request in the batch has hung up, or when the batcher is
	// stopped hard; Run should then return soon. The windows of a request that hung up alone still run, unless they are
	// [Dropper]s; what becomes of them is nobody's concern. Run is never called twice at a time; more and done only
	// from within it, one call at a time. The slices are the runner's to keep.
	Run(ctx context.Context, batch []W, more func(free int) []W, done func(w W, err error))
}

// Dropper is a window that wants to know when nobody waits for it any more, so that its runner can end it at the next
// step and has its place free.
type Dropper interface {
	// Drop is called at most once, while a batch with the window runs, by any goroutine. It must be quick and must not
	// call the batcher.
	Drop()
}
