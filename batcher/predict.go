package batcher

import (
	"cmp"
	"math"
	"slices"
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

// Waiter is a request that waits, as others may see it.
type Waiter struct {
	Caller     string
	CostMillis int64
	Since      time.Time
	Owed       bool          // a clip that an earlier turn could not fit
	Started    bool          // windows of it have run
	Predicted  time.Duration // until its answer, from now; 0 while nothing has been measured
}

// Line returns who waits in a lane, about in the order in which they will be served if nobody else comes.
func (f *Former[W]) Line(lane Lane, now time.Time) []Waiter {
	type place struct {
		it    *Item[W]
		round int64 // what is owed goes by rounds, the rest by what its caller will have been served
		key   int64
	}
	var line []place
	add := func(l *fifo[W], round int64) {
		for it := l.head; it != nil; it = it.next {
			if it.Lane == lane {
				line = append(line, place{it, round, int64(len(line))})
			}
		}
	}
	add(&f.cur.items, -2)
	if f.ahead != nil {
		add(&f.ahead.items, -1)
	}
	if lane == Recordings {
		add(&f.recordings.held, 0)
	}
	s := f.clips.callers
	if lane == Recordings && f.policy != CostOrder {
		s = f.recordings.callers
	}
	for _, c := range s.active {
		served, round := c.tag, int64(0)
		for it := c.queue.head; it != nil; it = it.next {
			round++
			if it.Lane != lane {
				continue
			}
			if lane == Clips {
				line = append(line, place{it, round, int64(it.seq)})
			} else {
				line = append(line, place{it, 1, served})
			}
			served += it.CostMillis - it.charged
		}
		fresh := slices.Clone(c.cheap)
		slices.SortFunc(fresh, func(a, b *Item[W]) int {
			return cmp.Or(cmp.Compare(a.CostMillis, b.CostMillis), cmp.Compare(a.seq, b.seq))
		})
		for _, it := range fresh {
			if it.Lane == lane {
				line = append(line, place{it, math.MaxInt64, served})
			}
			served += it.CostMillis
		}
	}
	slices.SortStableFunc(line, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.key, b.key))
	})
	waiters := make([]Waiter, len(line))
	var before int64
	for i, p := range line {
		it := p.it
		before += it.CostMillis - it.charged
		w := Waiter{Caller: it.Caller, CostMillis: it.CostMillis, Since: it.arrived, Owed: it.owed, Started: it.phase == started}
		if lane == Clips {
			w.Predicted = f.predictClip(i, now)
		} else {
			w.Predicted = f.predictRecording(before, now)
		}
		waiters[i] = w
	}
	return waiters
}
