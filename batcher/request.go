package batcher

import (
	"errors"
	"fmt"
	"time"
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
	// returned. If it returned fewer than max, all of these have run before it is called again. It should be quick,
	// since nobody is admitted meanwhile, and must not call the batcher. If it panics, or returns more than max
	// windows, the request ends with an error. The batcher only reads the slice.
	Next(max int) []W
}

// Request asks for one recording or clip to be run.
type Request[W any] struct {
	Lane       Lane
	CostMillis int64   // prepared audio in ms, from 0 to MaxCostMillis
	Caller     string  // who asks: callers share the device by their weights, and the Observer is told
	Work       Work[W] // never nil

	// Weight is how much of a lane the caller gets, in proportion to those of the others that wait in it: MinWeight to
	// MaxWeight. Zero means 1.
	Weight float64

	// Bytes is the memory that the request holds until it is done, for Config.QueueBytes.
	Bytes int64

	// Deadline is how long after its arrival an answer is still of use. A request that would take longer is not
	// admitted, one that does take longer leaves with ErrDeadline. Zero means none.
	Deadline time.Duration
}

// MaxCostMillis is the highest cost that a request may state: about 34 years, which no sum over a queue overflows.
const MaxCostMillis = 1 << 40

// MinWeight and MaxWeight bound Request.Weight: nobody is starved by a setting.
const (
	MinWeight = 0.01
	MaxWeight = 100
)

// weight is Weight, or what its zero means.
func (r *Request[W]) weight() float64 {
	if r.Weight == 0 {
		return 1
	}
	return r.Weight
}

func (r *Request[W]) check() error {
	switch {
	case r.Lane >= numLanes:
		return fmt.Errorf("batcher: request for unknown %v", r.Lane)
	case r.CostMillis < 0 || r.CostMillis > MaxCostMillis:
		return fmt.Errorf("batcher: request costs %d ms, want 0 to %d", r.CostMillis, int64(MaxCostMillis))
	case r.Weight != 0 && !(r.Weight >= MinWeight && r.Weight <= MaxWeight):
		return fmt.Errorf("batcher: request has the weight %v, want %v to %v, or 0 for 1",
			r.Weight, MinWeight, MaxWeight)
	case r.Work == nil:
		return errors.New("batcher: request without work")
	case r.Bytes < 0:
		return fmt.Errorf("batcher: request holds %d bytes, want 0 or more", r.Bytes)
	case r.Deadline < 0:
		return fmt.Errorf("batcher: request has a deadline of %v, want more than 0, or 0 for none", r.Deadline)
	}
	return nil
}
