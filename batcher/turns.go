package batcher

import "time"

// turn is what one lane is given before the other has its go.
type turn[W any] struct {
	lane   Lane
	before Lane    // lane of the turn bound before it
	items  fifo[W] // what waits for its next batch, in order
	size   int     // requests that it has been given
	cost   int64   // of these
	owed   int     // clips left behind when it was bound
	first  bool    // no batch of it has run

	promoted int // clips of it that went first because of their age
}

// beginTurn gives a lane its turn; false if nobody waits.
func (f *Former[W]) beginTurn(now time.Time) bool {
	f.aheadAt = time.Time{}
	if f.ahead != nil {
		f.cur, f.ahead, f.spare = f.ahead, nil, f.cur
	} else if !f.bind(f.cur, now) {
		return false
	}
	for it := f.cur.items.head; it != nil; it = it.next {
		it.waited = f.turns - it.arrival
	}
	f.inTurn = true
	f.turns++
	if f.policy == Windowed && f.cur.lane == Recordings {
		f.quantum.begin(f.clips.n > 0 || f.cur.before == Clips)
	}
	return true
}

// bind decides whose turn is next (rules 1 and 9) and binds its requests to it (rules 2 to 5 and 10); false if nobody
// waits. The recordings of policy windowed are bound window by window, when a batch is formed.
func (f *Former[W]) bind(t *turn[W], now time.Time) bool {
	lane := Clips
	switch {
	case f.clips.n == 0 && f.recordings.n == 0:
		return false
	case f.clips.n == 0:
		lane = Recordings
	case f.recordings.n == 0:
		f.quantum.saved, f.quantum.passed = 0, 0
	case !f.bound:
		if f.recordings.oldest().seq < f.clips.oldest().seq {
			lane = Recordings
		}
	case f.last == Clips && f.policy == Windowed && f.saves():
		f.quantum.save()
	case f.last == Clips:
		lane = Recordings
	}
	*t = turn[W]{lane: lane, before: f.last, first: true}
	if !f.bound {
		t.before = lane
	}
	switch {
	case lane == Recordings && f.policy == Lanes:
		it := f.recordings.head()
		f.recordings.remove(it)
		t.items.pushBack(it)
		t.size, t.cost = 1, it.CostMillis
	case lane == Recordings:
	case f.policy == Windowed:
		f.clips.fill(t, f.maxBatch, min(f.capMillis, f.maxAudioMillis))
	case f.policy == Lanes && (f.recordings.n > 0 || f.laned):
		f.laned = f.recordings.n > 0
		f.clips.fill(t, f.clips.n, f.capMillis)
	default:
		aged := now.Add(-f.batchWait)
		if f.noAging {
			aged = time.Time{}
		}
		f.clips.pack(t, f.maxBatch, f.capMillis, aged)
		if t.items.head.promoted {
			t.promoted = 1
		}
	}
	t.owed = f.clips.owed
	f.bound, f.last = true, lane
	return true
}

// considerAhead binds the next turn early where that is the policy (rule 8) and the turn under way has no batch left
// for which nothing is known: at once if it need not wait for company, else later.
func (f *Former[W]) considerAhead(now time.Time) {
	if !f.early || f.running == nil || f.ahead != nil || f.cur.items.n > 0 || f.clips.n+f.recordings.n == 0 {
		return
	}
	switch {
	case f.recordings.n > 0 || f.clips.n >= f.maxBatch || f.clips.cost >= f.capMillis:
		f.bindAhead(now)
	case f.aheadAt.IsZero():
		f.aheadAt = f.clips.oldest().arrived.Add(f.batchWait)
		if !now.Before(f.aheadAt) {
			f.bindAhead(now)
		}
	}
}

func (f *Former[W]) bindAhead(now time.Time) {
	f.aheadAt = time.Time{}
	if f.bind(f.spare, now) {
		f.ahead, f.spare = f.spare, nil
	}
}

// unbindEmpty forgets a turn bound ahead that everybody has left, so that it counts as no turn of its lane.
func (f *Former[W]) unbindEmpty() {
	if f.ahead.items.n == 0 {
		f.last = f.ahead.before
		f.ahead, f.spare = nil, f.ahead
	}
}

// turnIsOver reports whether the turn under way, of which no batch runs, has no further one.
func (f *Former[W]) turnIsOver() bool {
	switch {
	case f.policy != Windowed:
		return f.cur.items.n == 0
	case f.cur.lane == Clips:
		return !f.cur.first || f.cur.items.n == 0
	}
	return f.recordings.n == 0 || f.plan() == 0
}

func (f *Former[W]) endTurn() {
	f.inTurn = false
	f.noteTurn()
	for it := f.cur.items.tail; it != nil; it = f.cur.items.tail { // what one batch could not finish
		f.cur.items.remove(it)
		f.clips.putBack(it)
	}
	if f.policy == Windowed && f.cur.lane == Recordings {
		f.quantum.end(f.recordings.n > 0)
	}
	f.holdUntil = time.Time{}
	if f.clips.n == 1 && f.recordings.n == 0 && f.ahead == nil {
		f.holdUntil = f.clips.oldest().arrived.Add(f.batchWait)
	}
}

// Hold reports whether the driver should wait with Next, and until when unless something arrives before. A clip that
// is alone when the device has nothing to do is held for company until the batch wait after its arrival has passed. The
// hold ends early when there is a full batch or a full turn, and when a recording comes, since there is work then.
func (f *Former[W]) Hold(now time.Time) (until time.Time, hold bool) {
	if f.inTurn || f.ahead != nil || f.recordings.n > 0 || f.clips.n == 0 || !now.Before(f.holdUntil) {
		return time.Time{}, false
	}
	if f.clips.n >= f.maxBatch || f.clips.cost >= min(f.capMillis, f.maxAudioMillis) {
		return time.Time{}, false
	}
	return f.holdUntil, true
}
