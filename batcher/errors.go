package batcher

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrQueueFull says that a request was not admitted, since it would wait too long or there is no room for it. It
	// comes as a *BusyError.
	ErrQueueFull = errors.New("batcher: queue is full, ask again later")

	// ErrDeadline says that the request's deadline passed before it was done.
	ErrDeadline = errors.New("batcher: deadline passed before the request was done")

	// ErrClosed says that the batcher admits no more, or was stopped before the request was done.
	ErrClosed = errors.New("batcher: closed")

	// ErrUnfinished is for a Runner to say of a window that it has had its time and leaves its place before its end. It
	// goes on in a later batch.
	ErrUnfinished = errors.New("batcher: the window goes on in a later batch")

	// ErrFatal is for a Runner to wrap when no later batch can succeed (a device is lost). The batch's requests
	// end with the Runner's error; everybody else, now and later, with one that wraps both ErrClosed and it.
	ErrFatal = errors.New("batcher: device is lost")
)

// Limit is what a request that was not admitted ran against.
type Limit string

// The limits of admission.
const (
	LimitCount    Limit = "count"    // Config.QueueLimit
	LimitBytes    Limit = "bytes"    // Config.QueueBytes
	LimitWait     Limit = "wait"     // Config.QueueWait
	LimitDeadline Limit = "deadline" // Request.Deadline
)

// BusyError says why a request was not admitted, and how long it would have taken. It is ErrQueueFull to errors.Is.
type BusyError struct {
	Limit     Limit
	Predicted time.Duration // until its answer; 0 while nothing has been measured
	Waiting   int           // requests that wait, both lanes together
}

// Error names the limit and the predicted wait.
func (e *BusyError) Error() string {
	switch e.Limit {
	case LimitDeadline:
		return fmt.Sprintf("batcher: the answer would take about %v, longer than the request's deadline",
			e.Predicted.Round(time.Millisecond))
	case LimitWait:
		return fmt.Sprintf("batcher: the answer would take about %v, longer than requests may wait here; ask again later", e.Predicted.Round(time.Millisecond))
	}
	return fmt.Sprintf("%v: %d requests wait, the answer would take about %v", ErrQueueFull, e.Waiting,
		e.Predicted.Round(time.Millisecond))
}

// Is reports whether target is ErrQueueFull.
func (e *BusyError) Is(target error) bool { return target == ErrQueueFull }

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
