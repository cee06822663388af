package engine

import (
	"context"
	"encoding/json"
)

// SampleRate is the rate of all samples, in Hz.
const SampleRate = 16000

// Span is a stretch of samples [Start, End) that becomes a window. Overlap is how many of
// its first samples it shares with the span before; 0 where the cut lies in silence.
type Span struct{ Start, End, Overlap int }

// Model is a loaded model on a device.
type Model interface {
	// Info says what the model is and can do. It does not change.
	Info() ModelInfo
	// NewJob plans a request: samples are read, not copied, and must not change until the
	// job is done; spans are the stretches with speech in them, in order. The error is a
	// *[OptionError] for a wish that the model can't fulfil. Safe for concurrent use.
	NewJob(samples []float32, spans []Span, o Options) (Job, error)
	// Run runs windows of any of the model's jobs to their end, as one batch. It calls done once for
	// each, as it ends, with nil or what went wrong. Between steps, when places are free, it may call more, if
	// that's not nil, for up to so many windows that join the batch then and there. When ctx ends it returns soon, with
	// ctx's error for what was not finished. A window that takes far longer than others may leave with [ErrUnfinished],
	// to be run again. Both are called from within Run, which is for one call at a time.
	Run(ctx context.Context, batch []Window, more func(free int) []Window, done func(w Window, err error))
	// Close gives the model's memory back. No call may be under way.
	Close() error
}

// Job is one request of a model. Its methods are for one goroutine at a time, and none but Progress while its windows
// run, except from within the done of [Model.Run].
type Job interface {
	// Next returns up to max windows that can run now, in order; empty when everything
	// has been handed out, or, for a chain, when its last window was the end.
	Next(max int) []Window
	// Progress is how many samples are done with, out of how many. Safe at any time.
	Progress() (done, total int)
	// Settled returns the segments that have become final since it was last called, as Result has them and in its
	// order: a window's, once all before it are final and nothing that is still to run can change it. No later segment
	// starts before from, in seconds, which is +Inf when that was all.
	Settled() (segments []Segment, from float64)
	// Keep returns what was heard in a window that has ended without an error, for Restore.
	Keep(w Window) (Kept, error)
	// Restore takes back what an earlier job kept of the same samples, spans and options, in any order, before Next is
	// first called. Those windows are not handed out; everything else is as if they had been. What doesn't fit the job
	// is passed over, so that its windows run.
	Restore(kept []Kept)
	// Result is what was heard, once Next is empty and every window has run.
	Result() *Result
}

// Kept is what was heard in one window. It is plain data, which JSON holds without loss.
type Kept struct {
	// Start and End are the window's span of samples, or that of the chain which it is a part of.
	Start int `json:"start"`
	End   int `json:"end"`
	// Pass counts the windows of a chain, from 0.
	Pass int `json:"pass,omitempty"`
	// State is the model's own.
	State json.RawMessage `json:"state"`
}

// Window is what a job hands out; only its own model can look inside.
type Window interface {
	// Samples is the length of sound in it.
	Samples() int
	// Drop says that nobody waits for it any more: it leaves its batch at the next step, with
	// context.Canceled. Safe at any time.
	Drop()
}

// ModelInfo describes a model.
type ModelInfo struct {
	// Name is the name it was loaded by; Family is "whisper" or "parakeet".
	Name, Family string
	// Device is the device's kind, "cpu" or "cuda".
	Device string
	// Languages are the codes it knows; a single one means that there is nothing to detect.
	Languages []string
	// Translates, Prompts and WordTimes say what it can do besides transcribing.
	Translates, Prompts, WordTimes bool
	// MaxWindowSamples is the longest span it takes; MaxBatch the most windows in one batch.
	MaxWindowSamples, MaxBatch int
	// BudgetMillis is max_batch_tokens: the most audio in one batch, in ms.
	BudgetMillis int64
	// WeightBytes is what its weights take in single precision; a device that keeps them narrower needs less.
	WeightBytes int64
}

// OptionError is a wish that a model can't fulfil.
type OptionError struct {
	// Option is the request field: "language", "task", "prompt", …
	Option string
	// Reason says what is wrong and what would be right.
	Reason string
}

func (e *OptionError) Error() string { return e.Option + ": " + e.Reason }
