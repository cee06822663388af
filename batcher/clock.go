package batcher

import "time"

// Clock tells a Batcher the time. Its methods are called from several goroutines.
type Clock interface {
	// Now returns the time; it never goes back.
	Now() time.Time

	// NewTimer returns a channel that receives once, after d, and a function that frees the timer and must be called.
	NewTimer(d time.Duration) (fired <-chan time.Time, stop func())
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) NewTimer(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
