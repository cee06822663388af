package sim

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"hark/batcher"
)

// Class is what became of one kind of request.
type Class struct {
	Served   int
	TimedOut int

	waits []time.Duration // of those that were served, from question to answer; sorted when the run is over
}

// Wait returns the time that so many percent of the answers took at most, and 0 if there were none.
func (c *Class) Wait(percent int) time.Duration {
	if len(c.waits) == 0 {
		return 0
	}
	return c.waits[(len(c.waits)*percent+99)/100-1]
}

// Max returns the longest time that an answer took.
func (c *Class) Max() time.Duration { return c.Wait(100) }

// Result is what came of a run.
type Result struct {
	Policy, Load      string
	Duration          time.Duration
	Clips, Recordings Class

	audio float64       // seconds of it that ran and were not in vain
	busy  time.Duration // of the device
	spans []span

	longest map[string]time.Duration // wait by caller
}

// span is a batch, for the picture.
type span struct {
	began, ended time.Duration
	lane         batcher.Lane
	windows      int
	waiting      [2]int // when it ended
}

// Throughput returns the seconds of audio that were transcribed in a second.
func (r *Result) Throughput() float64 { return r.audio / r.Duration.Seconds() }

// Idle returns the part of the run in which the device had nothing to do.
func (r *Result) Idle() float64 { return max(0, 1-r.busy.Seconds()/r.Duration.Seconds()) }

func (r *Result) class(l batcher.Lane) *Class {
	if l == batcher.Clips {
		return &r.Clips
	}
	return &r.Recordings
}

func (r *Result) served(l batcher.Lane, caller string, wait time.Duration) {
	r.longest[caller] = max(r.longest[caller], wait)
	c := r.class(l)
	c.Served++
	c.waits = append(c.waits, wait)
}

// timedOut notes a request that was given up after so many seconds of its audio had run.
func (r *Result) timedOut(l batcher.Lane, audio float64) {
	r.class(l).TimedOut++
	r.audio -= audio
}

func (r *Result) batch(b *batcher.Batch[*window], began, ended time.Duration, f *batcher.Former[*window]) {
	r.busy += ended - began
	lane := b.Lane
	if b.Parts[0].Item.Lane == batcher.Recordings { // a policy with one queue has batches of clips only
		lane = batcher.Recordings
	}
	r.spans = append(r.spans, span{began, ended, lane, b.NumWindows,
		[2]int{f.Waiting(batcher.Clips), f.Waiting(batcher.Recordings)}})
}

func (r *Result) finish() {
	slices.Sort(r.Clips.waits)
	slices.Sort(r.Recordings.waits)
}

// MarshalJSON renders the result without the picture.
func (r *Result) MarshalJSON() ([]byte, error) {
	type class struct {
		Served   int     `json:"served"`
		TimedOut int     `json:"timed_out"`
		P50      float64 `json:"p50_s"`
		P90      float64 `json:"p90_s"`
		P99      float64 `json:"p99_s"`
		Max      float64 `json:"max_s"`
	}
	// A thousandth is enough, and keeps rounding in the last digit from telling equal runs apart.
	round := func(v float64) float64 { return math.Round(v*1000) / 1000 }
	seconds := func(d time.Duration) float64 { return round(d.Seconds()) }
	of := func(c *Class) class {
		return class{c.Served, c.TimedOut, seconds(c.Wait(50)), seconds(c.Wait(90)),
			seconds(c.Wait(99)), seconds(c.Max())}
	}
	return json.Marshal(struct {
		Policy     string  `json:"policy"`
		Load       string  `json:"load"`
		Duration   float64 `json:"duration_s"`
		Clips      class   `json:"clips"`
		Recordings class   `json:"recordings"`
		Throughput float64 `json:"audio_s_per_s"`
		Idle       float64 `json:"idle"`
	}{r.Policy, r.Load, r.Duration.Seconds(), of(&r.Clips), of(&r.Recordings), round(r.Throughput()), round(r.Idle())})
}
