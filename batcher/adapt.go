package batcher

import (
	"math"
	"slices"
	"time"
)

// Constants of rule 7. The gains, windows and bounds are those of the published controller
// (superlinked/sie, packages/sie_server_sidecar/src/scheduler/adaptive.rs).
const (
	adaptEvery        = 10   // batches between two steps
	capGain           = 0.15 // of the relative headroom, and the most of one step
	fillThreshold     = 0.7
	fillCapMillis     = 360_000 // a batch of so much audio counts as full whatever the cap
	fillBatches       = 50
	p50Clips          = 200
	waitGain          = 0.3
	waitIntegralGain  = 0.05
	waitIntegralBound = 20.0 // ms·s
	maxStepSeconds    = 5.0
	idleSeconds       = 2.0
	targetFactor      = 1.5
	targetBatches     = 10
	minTargetMillis   = 5.0
)

// adapter moves the cost cap and the batch wait by what clip batches show (rule 7).
type adapter struct {
	maxBatch  int
	fixedWait bool
	limits    capRange
	capMillis float64

	target   float64 // ms; 0 until known
	runs     []float64
	batches  int
	fills    recent
	latency  recent // queue + run of clips, in ms
	wait     float64
	integral float64 // ms·s
	stepped  time.Time
}

func newAdapter(c Config) *adapter {
	wait := c.BatchWait
	return &adapter{
		maxBatch:  c.MaxBatch,
		fixedWait: wait <= 0,
		limits:    c.capRange(),
		capMillis: float64(c.startCap()),
		target:    millis(c.TargetP50),
		fills:     recent{size: fillBatches},
		latency:   recent{size: p50Clips},
		wait:      millis(wait),
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// cap returns the cost cap, in ms.
func (a *adapter) cap() int64 { return int64(a.capMillis) }

// batchWait returns the batch wait.
func (a *adapter) batchWait() time.Duration { return time.Duration(a.wait * float64(time.Millisecond)) }

// rerange gives the cap another range, as it follows from a model's new budget.
func (a *adapter) rerange(r capRange) {
	a.limits = r
	a.capMillis = float64(r.clamp(a.cap()))
}

// clipDone notes what one clip took from arrival to its end.
func (a *adapter) clipDone(took time.Duration) { a.latency.add(millis(took)) }

// batchDone notes a clip batch and takes a step if it is time; it reports whether it did.
func (a *adapter) batchDone(now time.Time, clips int, costMillis int64, run time.Duration) (stepped bool) {
	a.fills.add(max(float64(costMillis)/min(a.capMillis, fillCapMillis), float64(clips)/float64(a.maxBatch)))
	if a.target == 0 {
		a.runs = append(a.runs, millis(run))
	}
	a.batches++
	if a.batches%adaptEvery != 0 {
		return false
	}
	if a.target == 0 {
		if len(a.runs) < targetBatches {
			return false
		}
		a.target = max(targetFactor*median(a.runs), minTargetMillis)
		a.runs = nil
	}
	if len(a.latency.values) == 0 {
		return false
	}
	headroom := a.target - median(a.latency.values)
	a.stepCap(headroom / a.target)
	if !a.fixedWait {
		a.stepWait(now, headroom)
	}
	return true
}

// stepCap moves the cap by a part of itself.
func (a *adapter) stepCap(headroom float64) {
	if a.fills.mean() < fillThreshold {
		return
	}
	move := min(max(capGain*headroom, -capGain), capGain)
	a.capMillis = min(max(a.capMillis*(1+move), float64(a.limits.floor)), float64(a.limits.ceiling))
}

// stepWait is the PI controller; headroom is in ms.
func (a *adapter) stepWait(now time.Time, headroom float64) {
	const lowest, highest = float64(MinBatchWait / time.Millisecond), float64(MaxBatchWait / time.Millisecond)
	dt := 0.0
	if !a.stepped.IsZero() {
		dt = min(now.Sub(a.stepped).Seconds(), maxStepSeconds)
	}
	a.stepped = now
	if dt > idleSeconds {
		a.integral *= math.Pow(0.5, dt-idleSeconds)
	}
	saturated := a.wait >= highest && headroom > 0 || a.wait <= lowest && headroom < 0
	if !saturated {
		a.integral = min(max(a.integral+headroom*dt, -waitIntegralBound), waitIntegralBound)
	}
	a.wait = min(max(a.wait+waitGain*headroom+waitIntegralGain*a.integral, lowest), highest)
}

// recent keeps the last so many values.
type recent struct {
	size   int
	values []float64
	next   int
}

func (r *recent) add(v float64) {
	if len(r.values) < r.size {
		r.values = append(r.values, v)
		return
	}
	r.values[r.next] = v
	r.next = (r.next + 1) % r.size
}

func (r *recent) mean() float64 {
	sum := 0.0
	for _, v := range r.values {
		sum += v
	}
	return sum / float64(len(r.values))
}

// median returns the exact median; values is not changed.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
