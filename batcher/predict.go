package batcher

import (
	"math"
	"time"
)

// Predict returns how long a request that came now would take until its answer, by what batches have taken so far; 0
// while nothing has been measured.
func (f *Former[W]) Predict(req *Request[W], now time.Time) time.Duration {
	if req.Lane == Recordings && f.policy != CostOrder {
		l := &f.recordings
		return f.predictRecording(f.fairShare(&l.callers, req, l.cost)+req.CostMillis, now)
	}
	l := &f.clips
	waiting := l.n
	if c := l.byKey[f.keyOf(req)]; f.policy == Windowed {
		own := 0
		if c != nil {
			own = c.len()
		}
		waiting = min(waiting, (own+1)*(len(l.active)+1)-1)
	}
	return f.predictClip(waiting, now)
}

func (f *Former[W]) keyOf(req *Request[W]) string {
	if f.policy != Windowed {
		return ""
	}
	return req.Caller
}

// fairShare is what goes before a caller's next recording, of all that waits, in ms.
func (f *Former[W]) fairShare(s *callers[W], req *Request[W], all int64) int64 {
	if f.policy != Windowed {
		return all
	}
	own := int64(leaseWindows * windowCharge)
	if c := s.byKey[req.Caller]; c != nil {
		for it := c.queue.head; it != nil; it = it.next {
			own += it.CostMillis - it.charged
		}
	}
	return int64(min(float64(all), float64(own)*(s.weight()/req.weight()+1)))
}

// predictClip is for a clip that so many others are served before: the turns before its own, then its own batch.
func (f *Former[W]) predictClip(before int, now time.Time) time.Duration {
	perTurn := f.clipsPerTurn()
	turns := before / perTurn
	m := &f.meters[Clips]
	turn := max(f.turnLength[Clips], m.time(min(perTurn, f.maxBatch)))
	seconds := f.runsOn(now) + float64(turns)*turn + f.inBatches(m, before-turns*perTurn+1)
	if f.recordings.n > 0 {
		seconds += float64(turns+1) * f.turnLength[Recordings] / (1 + f.quantum.passes)
	}
	return duration(seconds)
}

// inBatches is how long so many windows take in as few batches as hold them, in seconds.
func (f *Former[W]) inBatches(m *meter, windows int) float64 {
	full := (windows - 1) / f.maxBatch
	return float64(full)*m.time(f.maxBatch) + m.time(windows-full*f.maxBatch)
}

// clipsPerTurn is how many clips a turn takes, at the mean cost of those that wait.
func (f *Former[W]) clipsPerTurn() int {
	perTurn := f.maxBatch
	if f.clips.n == 0 || f.clips.cost == 0 {
		return perTurn
	}
	fit := f.capMillis * int64(f.clips.n) / f.clips.cost
	if f.policy != Windowed {
		return int(max(fit, 1))
	}
	return int(min(max(fit, 1), int64(perTurn)))
}

// predictRecording is for the end of so much audio of recordings, in ms.
func (f *Former[W]) predictRecording(costMillis int64, now time.Time) time.Duration {
	windows := int(max(1, math.Ceil(float64(costMillis)/windowCharge)))
	m, turn := &f.meters[Recordings], f.turnLength[Recordings]
	clipsRun := f.running != nil && f.running.Lane == Clips // who asked for them will most likely ask again
	if f.clips.n == 0 && !clipsRun || turn == 0 {
		return duration(f.inBatches(m, windows) + f.runsOn(now))
	}
	turns := math.Ceil(float64(windows) * m.price(max(m.within(turn), 1)) / turn)
	return duration(f.runsOn(now) + turns*(turn+(1+f.quantum.passes)*f.turnLength[Clips]))
}

// runsOn is how long the batch that runs will go on, in seconds.
func (f *Former[W]) runsOn(now time.Time) float64 {
	if f.running == nil {
		return 0
	}
	return max(0, f.meters[f.running.Lane].time(f.running.NumWindows)-now.Sub(f.began).Seconds())
}

func duration(seconds float64) time.Duration {
	const most = 1000 * 3600
	return time.Duration(min(seconds, most) * float64(time.Second))
}
