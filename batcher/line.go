package batcher

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Waiter is a request that waits, as others may see it.
type Waiter struct {
	Caller     string
	CostMillis int64
	Since      time.Time
	Owed       bool          // a clip that an earlier turn could not fit
	Started    bool          // windows of it have run
	Predicted  time.Duration // until its answer, from now; 0 while nothing has been measured
}

// place is where a request stands in a line.
type place[W any] struct {
	it    *Item[W]
	round int64 // what is owed goes by rounds, the rest by what its caller will have been served
	key   int64
}

// Line returns who waits in a lane, about in the order in which they will be served if nobody else comes.
func (f *Former[W]) Line(lane Lane, now time.Time) []Waiter {
	line := f.firstPlaces(lane)
	s := f.clips.callers
	if lane == Recordings && f.policy != CostOrder {
		s = f.recordings.callers
	}
	for _, c := range s.active {
		line = append(line, c.places(lane)...)
	}
	slices.SortStableFunc(line, func(a, b place[W]) int {
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.key, b.key))
	})
	waiters := make([]Waiter, len(line))
	var before int64
	for i, p := range line {
		it := p.it
		before += it.CostMillis - it.charged
		w := Waiter{Caller: it.Caller, CostMillis: it.CostMillis, Since: it.arrived, Owed: it.owed,
			Started: it.phase == started}
		if lane == Clips {
			w.Predicted = f.predictClip(i, now)
		} else {
			w.Predicted = f.predictRecording(before, now)
		}
		waiters[i] = w
	}
	return waiters
}

// firstPlaces are those of a lane's requests that go before all that wait in it: they have a turn, or keep the lane.
func (f *Former[W]) firstPlaces(lane Lane) (line []place[W]) {
	add := func(l *fifo[W], round int64) {
		for it := l.head; it != nil; it = it.next {
			if it.Lane == lane {
				line = append(line, place[W]{it, round, int64(len(line))})
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
	return line
}

// places are those of a caller's requests that wait: clips that are owed one in each round, all others by what the
// caller will have been served before.
func (c *caller[W]) places(lane Lane) (line []place[W]) {
	served, round := c.tag, int64(0)
	for it := c.queue.head; it != nil; it = it.next {
		round++
		if it.Lane != lane {
			continue
		}
		if lane == Clips {
			line = append(line, place[W]{it, round, int64(it.seq)})
		} else {
			line = append(line, place[W]{it, 1, served})
		}
		served += it.CostMillis - it.charged
	}
	fresh := slices.Clone(c.cheap)
	slices.SortFunc(fresh, func(a, b *Item[W]) int {
		return cmp.Or(cmp.Compare(a.CostMillis, b.CostMillis), cmp.Compare(a.seq, b.seq))
	})
	for _, it := range fresh {
		if it.Lane == lane {
			line = append(line, place[W]{it, math.MaxInt64, served})
		}
		served += it.CostMillis
	}
	return line
}
