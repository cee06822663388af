package batcher

// leaseWindows is how many windows a recording runs before it goes to its lane's tail (rule 10).
const leaseWindows = 30

// fetchWindows is how many windows a recording is asked for at once: two stretches, so that one that is alone can fill
// a batch at the end of the first, for it can't be asked again while windows of it run.
const fetchWindows = 2 * leaseWindows

// sharedTurn is how long a batch of recordings is to keep the device from other models, in seconds, if one window does
// not take longer.
const sharedTurn = 1.0

// windowCharge is what a window of a recording counts for towards its caller's share, in ms; the recording's cost in
// all, however many windows it comes to.
const windowCharge = 30_000

// fillRecordings moves up to n windows of recordings into b, one recording after the other (rule 10).
func (f *Former[W]) fillRecordings(b *Batch[W], n int, ended []*Item[W]) []*Item[W] {
	l := &f.recordings
	for n > 0 {
		it := l.head()
		if it == nil {
			break
		}
		if it.list != &l.held {
			it.lease = leaseWindows
		}
		l.remove(it)
		if len(it.ready) == 0 && !f.fetch(it, f.most(it)) || !f.topUp(it) {
			f.leave(it)
			ended = append(ended, it)
			continue
		}
		if it.phase == waiting {
			it.waited = max(0, f.turns-1-it.arrival)
			f.cur.size++
			f.cur.cost += it.CostMillis
		}
		f.begin(it)
		k := min(n, len(it.ready), it.lease)
		charge := min(int64(k)*windowCharge, it.CostMillis-it.charged)
		it.charged += charge
		l.charge(it, charge)
		b.add(it, it.ready[:k:k])
		it.ready = it.ready[k:]
		it.lease -= k
		n -= k
		if b.Lane == Recordings {
			f.quantum.planned -= k
		}
		switch {
		case len(it.ready) == 0: // where it goes on is known when these have run
		case it.lease > 0:
			l.holdFirst(it)
		default:
			l.pushBack(it)
		}
	}
	return ended
}

// plan returns how many windows of recordings the turn under way may run from here, over one batch or several: what its
// quantum has room for (rule 9). On a shared device it's a batch that is soon over; what is left of the quantum comes
// after it.
func (f *Former[W]) plan() int {
	q, m := &f.quantum, &f.meters[Recordings]
	if m.distinct == 0 {
		m = &f.meters[Clips] // the likeliest there is
	}
	n := 0
	switch {
	case q.timed && f.cur.first:
		n = f.affords(m, q.balance)
	case q.timed:
		n = m.within(q.balance)
	case f.cur.first:
		n = m.smallest()
	}
	if f.shared {
		n = min(n, max(1, m.within(sharedTurn)))
	}
	return n
}

// affords returns how many windows a turn of recordings that begins with so many seconds is to run: at least one.
func (f *Former[W]) affords(m *meter, seconds float64) int {
	n := max(m.within(seconds), 1)
	switch {
	case n >= f.maxBatch:
	case m.distinct == 1 && m.seen(n):
		return min(2*n, f.maxBatch) // what a further window costs takes two sizes to tell
	case m.distinct > 1 && m.marginal() < backfillLimit*m.time(n):
		return f.maxBatch
	}
	return n
}

// saves reports whether recordings leave the turn that is due to the clips, and have its quantum after the next clip
// turn: if a window after each is more than their share, as long as not one is afforded, or if a window is cheaper in
// the batch that both quanta afford.
func (f *Former[W]) saves() bool {
	q, m := &f.quantum, &f.meters[Recordings]
	if m.distinct == 0 || q.clipTurn == 0 {
		return false
	}
	due := q.due()
	if m.within(q.each()) == 0 {
		return m.within(due) == 0
	}
	longest := longestSaved
	if f.shared {
		longest = sharedTurn
	}
	later := due + q.each()
	if m.distinct < 2 || q.passed >= savedTurns || later > longest {
		return false
	}
	now, then := f.affords(m, due), f.affords(m, later)
	if f.recordings.cost < int64(then)*windowCharge { // too little is there for such a batch
		return false
	}
	return m.price(then) <= (1-worthSaving)*m.price(now)
}
