package sim

import (
	"fmt"
	"math"
	"strings"

	"hark/batcher"
)

// sharedCapMillis is the one cap that every model shared before budgets, and budgetMillis the budget that came after
// (720 000 ms: twelve windows of a minute, or 24 of half a minute).
const (
	sharedCapMillis = 16_384
	budgetMillis    = 720_000
)

// Policy is how batches are formed, with the settings that go with it.
type Policy struct {
	Name, About string

	config   batcher.Config
	whole    bool // recordings are one piece of work
	sameCost bool // windows of recordings gain nothing from a batch, and the share follows from that: see shareOfLanes
}

// Policies returns all policies, in the order in which they were invented.
func Policies() []Policy {
	return []Policy{
		{
			Name: "cost", About: "cheapest first, clips and recordings in one queue, one shared cap of 16 384",
			config: batcher.Config{Policy: batcher.CostOrder, CostCapMillis: sharedCapMillis,
				NoAging: true}, whole: true,
		},
		{
			Name: "cost-aged", About: "the same, but the oldest goes first once it has waited",
			config: batcher.Config{Policy: batcher.CostOrder, CostCapMillis: sharedCapMillis}, whole: true,
		},
		{
			Name: "lanes-shared-cap", About: "two lanes, still under the shared cap",
			config: batcher.Config{Policy: batcher.Lanes, CostCapMillis: sharedCapMillis, NoAdapt: true}, whole: true,
		},
		{
			Name: "lanes", About: "two lanes, the model's own budget, adapting",
			config: batcher.Config{Policy: batcher.Lanes, CostCapMillis: budgetMillis}, whole: true,
		},
		{
			Name: "lanes-depth1", About: "the same, no turn is bound before its time",
			config: batcher.Config{Policy: batcher.Lanes, CostCapMillis: budgetMillis, Depth: 1}, whole: true,
		},
		{
			Name: "windowed", About: "recordings get a share of device time, window by window",
			config: batcher.Config{CostCapMillis: budgetMillis},
		},
		{
			Name: "windowed-same-cost", About: "the same on a device where windows of recordings gain nothing from a batch, at the share that lanes gives them",
			config: batcher.Config{CostCapMillis: budgetMillis}, sameCost: true,
		},
	}
}

// PolicyNamed returns the policy of that name.
func PolicyNamed(name string) (Policy, error) {
	var names []string
	for _, p := range Policies() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Policy{}, fmt.Errorf("sim: unknown policy %q, want one of: %s", name, strings.Join(names, ", "))
}

// WithShare returns the policy with another share for recordings, where it has one.
func (p Policy) WithShare(share float64) Policy {
	if p.config.Policy == batcher.Windowed {
		p.config.RecordingsShare = share
	}
	return p
}

// shareOfLanes returns the part of the device's time that recordings get under policy lanes, with all clients of a load
// waiting: a recording's turn to a clip turn that fits the cost cap. Where a recording costs the same however it is
// cut, a smaller share costs throughput; for the load "mixed" it is 0.89.
func shareOfLanes(l Load, capMillis int64, d Device) float64 {
	var clips, audio, recordings, alone float64
	for _, c := range l.clients {
		if c.lane == batcher.Clips {
			clips++
			audio += c.lengths[0]
		} else {
			recordings++
			alone += c.lengths[0] * alonePerSecond
		}
	}
	if clips == 0 || recordings == 0 {
		return batcher.DefaultRecordingsShare
	}
	fit := min(clips, max(1, math.Floor(float64(capMillis)/1000*clips/audio)))
	turn := math.Ceil(fit/batcher.DefaultMaxBatch)*d.Fixed + fit*d.PerWindow
	alone /= recordings
	return alone / (alone + turn)
}
