package batcher

import (
	"context"
	"errors"
	"fmt"
)

// Lane is where a request waits.
type Lane uint8

// The two lanes. Which one a request belongs to follows from the length of its decoded audio: at most 30 s is a clip.
const (
	Clips Lane = iota
	Recordings
	numLanes
)

// String returns the lane's name as logs and metrics show it: "clips" or "recordings".
func (l Lane) String() string {
	switch l {
	case Clips:
		return "clips"
	case Recordings:
		return "recordings"
	}
	return fmt.Sprintf("lane %d", uint8(l))
}

// Work is one request as the batcher sees it: its windows in order. A recording with independent windows hands out
// many; a sequential one is a chain that hands out its next window when the last one is done; a clip usually has one.
type Work[W any] interface {
	// Next returns up to max windows that can run now, in order; an empty result once everything has been handed out
	// (or, for a chain, when nothing more comes), after which it is not called again. max is at least 1.
	//
	// It is called by one goroutine at a time, never while windows of an earlier call run, and never after Do has
	// returned. It should be quick, since nobody is admitted meanwhile, and must not call the batcher. If it panics,
	// or returns more than max windows, the request ends with an error. The batcher only reads the slice.
	Next(max int) []W
}

// Runner runs windows on a device.
type Runner[W any] interface {
	// Run runs one batch of 1 to MaxBatch windows to its end and reports, window by window, what went wrong: either
	// nil (all went well) or one entry a window, nil where it went well. An error reaches only the request that owns
	// the window, and takes the rest of that request's windows off. Any other length, and a panic, fail the whole
	// batch. An error that wraps [ErrFatal] stops the batcher.
	//
	// ctx ends when every request in the batch has hung up, or when the batcher is stopped hard; Run should then return
	// soon. The windows of a request that hung up alone still run; what becomes of them is nobody's concern.
	// Run is called by one goroutine, never twice at a time. The slice is the Runner's to keep.
	Run(ctx context.Context, batch []W) []error
}

// Request asks for one recording or clip to be run.
type Request[W any] struct {
	Lane       Lane
	CostMillis int64   // prepared audio in ms, from 0 to MaxCostMillis
	Caller     string  // who asks, for the Observer
	Work       Work[W] // never nil
}

// MaxCostMillis is the highest cost that a request may state: about 34 years, which no sum over a queue overflows.
const MaxCostMillis = 1 << 40

func (r *Request[W]) check() error {
	switch {
	case r.Lane >= numLanes:
		return fmt.Errorf("batcher: request for unknown %v", r.Lane)
	case r.CostMillis < 0 || r.CostMillis > MaxCostMillis:
		return fmt.Errorf("batcher: request costs %d ms, want 0 to %d", r.CostMillis, int64(MaxCostMillis))
	case r.Work == nil:
		return errors.New("batcher: request without work")
	}
	return nil
}

var (
	// ErrQueueFull says that as many requests wait as Config.QueueLimit allows. Ask again later.
	ErrQueueFull = errors.New("batcher: queue is full, ask again later")

	// ErrClosed says that the batcher admits no more, or was stopped before the request was done.
	ErrClosed = errors.New("batcher: closed")

	// ErrFatal is for a Runner to wrap when no later batch can succeed (a device is lost). The batch's requests
	// end with the Runner's error; everybody else, now and later, with one that wraps both ErrClosed and it.
	ErrFatal = errors.New("batcher: device is lost")
)

// PanicError is what a request ends with when the Runner or its own Work panicked.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // of the goroutine, for a log
}

// Error names the value, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("batcher: panic: %v", e.Value) }

// Unwrap returns the value where it is an error, else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
