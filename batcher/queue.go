package batcher

import (
	"cmp"
	"slices"
	"time"
)

// Queue is what a batcher holds at one moment.
type Queue struct {
	Lanes     [2][]Waiter // by Lane: who waits, about in the order in which they will be served
	Running   []Waiter    // requests with windows in the batch that runs, or that left it before their end
	Turn      Lane        // whose turn it is, if InTurn
	InTurn    bool
	CapMillis int64         // the cost cap
	BatchWait time.Duration // how long a lone clip may be held
	Owed      int           // clips that are owed a place
	Bytes     int64         // what all requests hold, by what they stated
}

// Queue returns a snapshot, for people to look at.
func (b *Batcher[W]) Queue() Queue {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	f := b.former
	q := Queue{
		InTurn:    f.InTurn(),
		CapMillis: f.Cap(),
		BatchWait: f.BatchWait(),
		Owed:      f.Owed(),
		Bytes:     b.bytes,
	}
	if q.InTurn {
		q.Turn = f.cur.lane
	}
	for lane := range numLanes {
		q.Lanes[lane] = f.Line(lane, now)
		for i := range q.Lanes[lane] {
			q.Lanes[lane][i].Predicted = b.stretch(q.Lanes[lane][i].Predicted)
		}
	}
	for it, c := range b.calls {
		if it.inFlight > 0 {
			q.Running = append(q.Running, Waiter{Caller: it.Caller, CostMillis: it.CostMillis,
				Since: c.arrived, Started: true})
		}
	}
	sortBySince(q.Running)
	return q
}

func sortBySince(w []Waiter) {
	slices.SortFunc(w, func(a, b Waiter) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Caller, b.Caller),
			cmp.Compare(a.CostMillis, b.CostMillis))
	})
}
