package batcher

import (
	"fmt"
	"time"
)

// Defaults of Config.
const (
	DefaultMaxBatch            = 12
	DefaultMaxBatchAudioMillis = 720_000
	DefaultCostCapMillis       = 720_000
	DefaultBatchWait           = 10 * time.Millisecond
	DefaultQueueLimit          = 1024
)

// MaxBatchWait is the longest batch wait: beyond it a lone clip would notice.
const MaxBatchWait = 50 * time.Millisecond

// Config holds a batcher's settings. The zero value is ready to use.
type Config struct {
	// MaxBatch is the most windows in a batch. Zero means DefaultMaxBatch.
	MaxBatch int

	// MaxBatchAudioMillis is the most audio in a batch of clips, in ms; a clip that alone has more runs alone.
	// Zero means DefaultMaxBatchAudioMillis. At the default MaxBatch, clips of 30 s cannot reach it.
	MaxBatchAudioMillis int64

	// CostCapMillis is the most that the clips of one turn may cost together, in ms of audio: the model's budget.
	// Zero means DefaultCostCapMillis.
	CostCapMillis int64

	// BatchWait is how long after its arrival a lone clip may be held for company, at most MaxBatchWait. Zero means
	// DefaultBatchWait; negative, no hold.
	BatchWait time.Duration

	// QueueLimit is the most requests that may wait, both lanes together, without those of which a window has begun
	// to run. Zero means DefaultQueueLimit.
	QueueLimit int

	// Clock tells the time. Nil means the system's clock.
	Clock Clock

	// Observer is told what happens. Nil means nobody is.
	Observer Observer
}

// Validate returns an error that names the first field out of range, or nil. New does not call it: it is for whoever
// fills a Config from flags.
func (c Config) Validate() error {
	switch {
	case c.MaxBatch < 0:
		return fmt.Errorf("batcher: MaxBatch is %d, want at least 1, or 0 for %d", c.MaxBatch, DefaultMaxBatch)
	case c.MaxBatchAudioMillis < 0:
		return fmt.Errorf("batcher: MaxBatchAudioMillis is %d, want at least 1, or 0 for %d", c.MaxBatchAudioMillis, DefaultMaxBatchAudioMillis)
	case c.CostCapMillis < 0:
		return fmt.Errorf("batcher: CostCapMillis is %d, want at least 1, or 0 for %d", c.CostCapMillis, DefaultCostCapMillis)
	case c.BatchWait > MaxBatchWait:
		return fmt.Errorf("batcher: BatchWait is %v, want at most %v", c.BatchWait, MaxBatchWait)
	case c.QueueLimit < 0:
		return fmt.Errorf("batcher: QueueLimit is %d, want at least 1, or 0 for %d", c.QueueLimit, DefaultQueueLimit)
	}
	return nil
}

// withDefaults returns c with every field set; a value below its range counts as zero.
func (c Config) withDefaults() Config {
	if c.MaxBatch <= 0 {
		c.MaxBatch = DefaultMaxBatch
	}
	if c.MaxBatchAudioMillis <= 0 {
		c.MaxBatchAudioMillis = DefaultMaxBatchAudioMillis
	}
	if c.CostCapMillis <= 0 {
		c.CostCapMillis = DefaultCostCapMillis
	}
	if c.BatchWait == 0 {
		c.BatchWait = DefaultBatchWait
	}
	if c.QueueLimit <= 0 {
		c.QueueLimit = DefaultQueueLimit
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	return c
}

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
