package batcher

import (
	"fmt"
	"time"
)

// Defaults of Config.
const (
	DefaultMaxBatch            = 12
	DefaultMaxBatchAudioMillis = 720_000
	DefaultBudgetMillis        = 16_384
	DefaultBatchWait           = 10 * time.Millisecond
	DefaultRecordingsShare     = 0.5
	DefaultDepth               = 2
	DefaultQueueLimit          = 1024
)

// The batch wait adapts between these: below the first a timer is all it buys, beyond
// the second a lone clip would notice.
const (
	MinBatchWait = time.Millisecond
	MaxBatchWait = 50 * time.Millisecond
)

// MinShare and MaxShare bound Config.RecordingsShare: neither lane may be starved by a setting.
const (
	MinShare = 0.02
	MaxShare = 0.98
)

// Config holds a batcher's settings. The zero value is ready to use.
type Config struct {
	// Policy is how turns are formed. Zero means Windowed.
	Policy Policy

	// MaxBatch is the most windows in a batch. Zero means DefaultMaxBatch.
	MaxBatch int

	// MaxBatchAudioMillis is the most audio in a batch of clips, in ms; a clip that alone has more runs alone.
	// Zero means DefaultMaxBatchAudioMillis. At the default MaxBatch, clips of 30 s cannot reach it.
	MaxBatchAudioMillis int64

	// CostCapMillis is the model's budget b, in ms of audio: where the cost cap starts, and what its range follows
	// from. Zero, for a model that reports none, means DefaultBudgetMillis.
	CostCapMillis int64

	// MaxBatchCostMillis, if not zero, is what every model's budget is taken to be, whatever it reports
	// (HARK_BATCHER_MAX_BATCH_COST).
	MaxBatchCostMillis int64

	// MinCostMillis and MaxCostMillis, if not zero, bound every model's cost cap from its first batch, instead of what
	// follows from its budget (HARK_ADAPTIVE_BATCH_MIN_COST and HARK_ADAPTIVE_BATCH_MAX_COST).
	MinCostMillis, MaxCostMillis int64

	// TargetP50 is the median of queue plus run time of clips that the cost cap and the batch wait aim at. Zero means
	// one and a half times the median run time of the first batches, at least 5 ms.
	TargetP50 time.Duration

	// NoAdapt keeps the cost cap and the batch wait where they start.
	NoAdapt bool

	// BatchWait is how long after its arrival a lone clip may be held for company, at most MaxBatchWait. Zero means
	// DefaultBatchWait; negative, no hold, ever.
	BatchWait time.Duration

	// RecordingsShare is the part of the device's time that recordings get while clips wait too, MinShare to
	// MaxShare, under policy Windowed. Zero means DefaultRecordingsShare.
	RecordingsShare float64

	// NoBackfill keeps free places of a batch from the other lane, whatever has been measured. It is for devices on
	// which a batch of long contexts slows everybody.
	NoBackfill bool

	// NoAging has plain packing (rule 5) go by cost alone.
	NoAging bool

	// Depth is 2 to have the turn after this one bound while the last batch of this one runs, 1 not to. It is the
	// policies Lanes and CostOrder that do so; Windowed always binds late. Zero means DefaultDepth.
	Depth int

	// QueueLimit is the most requests that may wait, both lanes together, without those of which a window has begun
	// to run. Zero means DefaultQueueLimit.
	QueueLimit int

	// QueueBytes is the most memory that requests under way may hold together, by what they state in Request.Bytes; a
	// request that is alone may hold more. Zero means no limit.
	QueueBytes int64

	// QueueWait is the longest predicted wait that a request is admitted with. Zero means no limit.
	QueueWait time.Duration

	// Device is what the batcher runs its batches on, where it shares it with others. Nil
	// means that it has one of its own.
	Device *Device

	// Clock tells the time. Nil means the system's clock.
	Clock Clock

	// Observer is told what happens. Nil means nobody is.
	Observer Observer
}

// Validate returns an error that names the first field out of range, or nil. New does not call it: it is for whoever
// fills a Config from flags.
func (c Config) Validate() error {
	for _, f := range []struct {
		name     string
		value    int64
		fallback int64
	}{
		{"MaxBatch", int64(c.MaxBatch), DefaultMaxBatch},
		{"MaxBatchAudioMillis", c.MaxBatchAudioMillis, DefaultMaxBatchAudioMillis},
		{"CostCapMillis", c.CostCapMillis, DefaultBudgetMillis},
		{"QueueLimit", int64(c.QueueLimit), DefaultQueueLimit},
	} {
		if f.value < 0 {
			return fmt.Errorf("batcher: %s is %d, want at least 1, or 0 for %d", f.name, f.value, f.fallback)
		}
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"MaxBatchCostMillis", c.MaxBatchCostMillis},
		{"MinCostMillis", c.MinCostMillis},
		{"MaxCostMillis", c.MaxCostMillis},
		{"QueueBytes", c.QueueBytes},
	} {
		if f.value < 0 || f.value > MaxCostMillis {
			return fmt.Errorf("batcher: %s is %d, want 1 to %d, or 0 to leave it unset", f.name,
				f.value, int64(MaxCostMillis))
		}
	}
	switch {
	case c.Policy >= numPolicies:
		return fmt.Errorf("batcher: Policy is %v, want Windowed, Lanes or CostOrder", c.Policy)
	case c.CostCapMillis > MaxCostMillis:
		return fmt.Errorf("batcher: CostCapMillis is %d, want at most %d", c.CostCapMillis, int64(MaxCostMillis))
	case c.MaxCostMillis != 0 && c.MinCostMillis > c.MaxCostMillis:
		return fmt.Errorf("batcher: MinCostMillis is %d, want at most MaxCostMillis, which is %d",
			c.MinCostMillis, c.MaxCostMillis)
	case c.TargetP50 < 0:
		return fmt.Errorf("batcher: TargetP50 is %v, want more than 0, or 0 to measure it", c.TargetP50)
	case c.BatchWait > MaxBatchWait:
		return fmt.Errorf("batcher: BatchWait is %v, want at most %v", c.BatchWait, MaxBatchWait)
	case c.RecordingsShare != 0 && !(c.RecordingsShare >= MinShare && c.RecordingsShare <= MaxShare):
		return fmt.Errorf("batcher: RecordingsShare is %v, want %v to %v", c.RecordingsShare, MinShare, MaxShare)
	case c.Depth < 0 || c.Depth > 2:
		return fmt.Errorf("batcher: Depth is %d, want 1 or 2", c.Depth)
	case c.QueueWait < 0:
		return fmt.Errorf("batcher: QueueWait is %v, want more than 0, or 0 for no limit", c.QueueWait)
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
		c.CostCapMillis = DefaultBudgetMillis
	}
	if c.BatchWait == 0 {
		c.BatchWait = DefaultBatchWait
	}
	if !(c.RecordingsShare > 0) {
		c.RecordingsShare = DefaultRecordingsShare
	}
	c.RecordingsShare = min(max(c.RecordingsShare, MinShare), MaxShare)
	if c.Depth <= 0 {
		c.Depth = DefaultDepth
	}
	if c.QueueLimit <= 0 {
		c.QueueLimit = DefaultQueueLimit
	}
	if c.Device == nil {
		c.Device = NewDevice()
	}
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	return c
}
