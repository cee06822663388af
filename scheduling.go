package main

import (
	"errors"
	"fmt"
	"time"

	"hark/batcher"
)

// schedulingFlags say how requests share the device. (ms of audio are a request's cost: what is left of it without
// silence.)
type schedulingFlags struct {
	RecordingsShare float64 `default:"0.5" group:"scheduling" placeholder:"PART" help:"Part of the device's time that recordings (longer than 30 s) get while clips wait too, but at least a window a turn: ${min_share} to ${max_share} (default: ${default})."`
	Quantum         string  `enum:"share,all,none" default:"share" group:"scheduling" placeholder:"WORD" help:"What a recording's turn is: share, as many of its windows as the recordings' share allows; all, the whole recording; none, no turns at all, the cheapest request first, which starves recordings and is there to be compared with (default: ${default})."`

	BatcherMaxBatchCost  int64         `group:"scheduling" placeholder:"MS" help:"Audio that the clips of one turn may have together, to start from, whatever the model reports (default: what the model reports)."`
	AdaptiveBatchMinCost int64         `group:"scheduling" placeholder:"MS" help:"Least that this adapts to (default: a quarter of where it started)."`
	AdaptiveBatchMaxCost int64         `group:"scheduling" placeholder:"MS" help:"Most that this adapts to (default: four times where it started)."`
	AdaptiveTarget       time.Duration `group:"scheduling" placeholder:"TIME" help:"Median time from arrival to answer of clips to adapt towards (default: one and a half times what the first batches take)."`
	Adaptive             bool          `default:"true" negatable:"" group:"scheduling" help:"Adapt how much a turn takes and how long a lone clip is held (default: yes)."`
	BatchWait            time.Duration `default:"10ms" group:"scheduling" placeholder:"TIME" help:"How long a lone clip may be held for company at first, 0 to ${max_batch_wait} (default: ${default})."`
	PipelineDepth        int           `default:"2" group:"scheduling" placeholder:"N" help:"With --quantum all or none: 2 to form the next batch while one runs, 1 not to (default: ${default})."`

	QueueLimit int           `group:"scheduling" placeholder:"N" help:"Requests that may wait for a model; more are told to come back (default: --max-pending)."`
	QueueBytes byteCount     `group:"scheduling" placeholder:"SIZE" help:"Decoded audio that requests for a model may hold together; more are told to come back (default: no limit)."`
	QueueWait  time.Duration `group:"scheduling" placeholder:"TIME" help:"Longest predicted wait that a request is let in with (default: no limit)."`
}

// quanta are the words of --quantum.
var quanta = map[string]batcher.Policy{"share": batcher.Windowed, "all": batcher.Lanes, "none": batcher.CostOrder}

// config checks the flags and returns what they mean; the error names the first that can't be used.
func (f schedulingFlags) config() (batcher.Config, error) {
	c := batcher.Config{
		Policy:             quanta[f.Quantum],
		RecordingsShare:    f.RecordingsShare,
		MaxBatchCostMillis: f.BatcherMaxBatchCost,
		MinCostMillis:      f.AdaptiveBatchMinCost,
		MaxCostMillis:      f.AdaptiveBatchMaxCost,
		TargetP50:          f.AdaptiveTarget,
		NoAdapt:            !f.Adaptive,
		BatchWait:          f.BatchWait,
		Depth:              f.PipelineDepth,
		QueueLimit:         f.QueueLimit,
		QueueBytes:         int64(f.QueueBytes),
		QueueWait:          f.QueueWait,
	}
	if f.BatchWait == 0 {
		c.BatchWait = -1 // the batcher takes zero for its default
	}
	for _, check := range []struct {
		flag string
		bad  bool
		want string
	}{
		{"recordings-share", !(f.RecordingsShare >= batcher.MinShare && f.RecordingsShare <= batcher.MaxShare), fmt.Sprintf("%v to %v", batcher.MinShare, batcher.MaxShare)},
		{"batcher-max-batch-cost", f.BatcherMaxBatchCost < 0 || f.BatcherMaxBatchCost > batcher.MaxCostMillis, "1 or more"},
		{"adaptive-batch-min-cost", f.AdaptiveBatchMinCost < 0 || f.AdaptiveBatchMinCost > batcher.MaxCostMillis, "1 or more"},
		{"adaptive-batch-max-cost", f.AdaptiveBatchMaxCost < 0 || f.AdaptiveBatchMaxCost > batcher.MaxCostMillis, "1 or more"},
		{"adaptive-batch-max-cost", f.AdaptiveBatchMaxCost != 0 && f.AdaptiveBatchMinCost > f.AdaptiveBatchMaxCost, "no less than --adaptive-batch-min-cost"},
		{"adaptive-target", f.AdaptiveTarget < 0, "more than 0"},
		{"batch-wait", f.BatchWait < 0 || f.BatchWait > batcher.MaxBatchWait, fmt.Sprintf("0 to %v", batcher.MaxBatchWait)},
		{"pipeline-depth", f.PipelineDepth < 1 || f.PipelineDepth > 2, "1 or 2"},
		{"queue-limit", f.QueueLimit < 0, "1 or more"},
		{"queue-wait", f.QueueWait < 0, "more than 0"},
	} {
		if check.bad {
			return batcher.Config{}, &usage{errors.New("--" + check.flag + ": want " + check.want)}
		}
	}
	if err := c.Validate(); err != nil { // nothing is left for it to find
		return batcher.Config{}, &usage{err}
	}
	return c, nil
}
