package batcher

import (
	"slices"
	"time"
)

// Former holds two lanes and forms turns and batches from them by the rules of the package comment. It's
// deterministic: the same calls give the same batches. It isn't safe for concurrent use.
//
// The driver's cycle is Next, run the batch, Remove what failed, Done; Add and Remove may come at any time between.
// While a batch runs, the driver may say of a window that it has ended (Finish) or left (Unfinished), and fill its place
// (More).
// Every time that is passed in must be at or after the one before.
type Former[W any] struct {
	policy         Policy
	maxBatch       int
	maxAudioMillis int64
	config         Config
	adapter        *adapter // nil if nothing adapts
	capMillis      int64
	batchWait      time.Duration
	noAging        bool
	shared         bool // other models use the device
	early          bool // binds the next turn while the last batch of this one runs

	clips      clipLane[W]
	recordings recordingLane[W]
	numWaiting [numLanes]int // items in phase waiting, whether in a lane or in a turn

	seq     uint64
	turns   int  // begun so far
	bound   bool // a turn has been bound
	last    Lane // lane of the turn bound last
	laned   bool // the next clip turn keeps to rules 3 and 4 although no recording waits any more
	inTurn  bool
	cur     *turn[W]
	ahead   *turn[W] // the turn after this one, already bound; nil if there is none
	spare   *turn[W]
	aheadAt time.Time // when a turn that has found company may be bound ahead; zero if nothing waits for it

	running *Batch[W]
	began   time.Time // when it began
	batches uint64

	quantum   quantum
	meters    [numLanes]meter
	backfills [numLanes]backfill // windows of this lane in batches of the other

	turnLength [numLanes]float64 // smoothed, in seconds
	turnSoFar  float64

	holdUntil time.Time
}

// NewFormer returns an empty Former. Of c it uses what forms batches: not QueueLimit and the other limits of admission,
// Clock and Observer.
func NewFormer[W any](c Config) *Former[W] {
	c = c.withDefaults()
	f := &Former[W]{
		policy:         c.Policy,
		maxBatch:       c.MaxBatch,
		maxAudioMillis: c.MaxBatchAudioMillis,
		capMillis:      c.startCap(),
		batchWait:      c.BatchWait,
		noAging:        c.NoAging,
		config:         c,
		early:          c.Policy != Windowed && c.Depth > 1,
		clips:          newClipLane[W](),
		cur:            new(turn[W]),
		spare:          new(turn[W]),
		quantum:        quantum{ratio: c.RecordingsShare / (1 - c.RecordingsShare)},
	}
	for lane := range f.meters {
		f.meters[lane] = newMeter(c.MaxBatch)
		f.backfills[lane].off = c.NoBackfill
	}
	if !c.NoAdapt && c.Policy != CostOrder {
		f.adapter = newAdapter(c)
	}
	return f
}

// SetBudget says that the model reports another budget, in ms (rule 6). The cost cap moves into the range that follows
// from it; nobody loses his place. It holds from the next turn that is bound.
func (f *Former[W]) SetBudget(millis int64) {
	f.config.CostCapMillis = millis
	r := f.config.capRange()
	if f.adapter == nil {
		f.capMillis = f.config.startCap()
		return
	}
	f.adapter.rerange(r)
	f.capMillis = f.adapter.cap()
}

// SetShared says whether the device is shared with other models, whose clips a turn of recordings keeps waiting too.
// Such a turn is kept short then even if no clips of this model compete.
func (f *Former[W]) SetShared(shared bool) { f.shared = shared }

// Cap returns the cost cap, in ms.
func (f *Former[W]) Cap() int64 { return f.capMillis }

// BatchWait returns how long a lone clip may be held.
func (f *Former[W]) BatchWait() time.Duration { return max(f.batchWait, 0) }

// Waiting returns how many requests of a lane wait: those of which no window has been in a batch.
func (f *Former[W]) Waiting(l Lane) int { return f.numWaiting[l] }

// Owed returns how many clips are owed a place, because a turn could not fit them.
func (f *Former[W]) Owed() int { return f.clips.owed }

// InTurn reports whether a turn is under way: a batch of it runs, or another one is to come.
func (f *Former[W]) InTurn() bool { return f.inTurn }

// Add puts an item at the tail of its lane.
func (f *Former[W]) Add(it *Item[W], now time.Time) {
	if !f.aheadAt.IsZero() && !now.Before(f.aheadAt) {
		f.bindAhead(now)
	}
	if !f.inTurn && f.clips.n == 0 && f.recordings.n == 0 {
		f.holdUntil = now.Add(f.batchWait)
	}
	f.seq++
	it.seq, it.arrived, it.arrival = f.seq, now, f.turns
	if f.inTurn {
		it.arrival--
	}
	f.numWaiting[it.Lane]++
	key := it.Caller
	if f.policy != Windowed {
		key = ""
	}
	if f.queueOf(it) == Recordings {
		f.recordings.add(it, key)
		f.laned = true
	} else {
		f.clips.add(it, key)
	}
	f.considerAhead(now)
}

// queueOf returns the lane in which an item waits: its own, except where there is only one queue.
func (f *Former[W]) queueOf(it *Item[W]) Lane {
	if f.policy == CostOrder {
		return Clips
	}
	return it.Lane
}

// Remove takes an item out, wherever it is: its request hung up or failed. Windows of it that run now run on, but
// no further one gets into a batch, and its Work isn't asked again. Removing what has ended or left does nothing.
func (f *Former[W]) Remove(it *Item[W]) {
	if it.phase == gone {
		return
	}
	switch {
	case it.list == nil: // runs
	case it.list == &f.cur.items:
		it.list.remove(it)
	case f.ahead != nil && it.list == &f.ahead.items:
		it.list.remove(it)
		f.unbindEmpty()
	case f.queueOf(it) == Recordings:
		f.recordings.remove(it)
	default:
		f.clips.remove(it)
	}
	f.leave(it)
	if f.inTurn && f.running == nil && f.turnIsOver() {
		f.endTurn()
	}
}

// Next forms the next batch: of the turn under way, else of a turn that begins now. It returns nil when there is no
// work, and while a batch runs. ended are requests found to have no windows (left), or to have failed ([Item.Err]); the
// Former has dropped them.
func (f *Former[W]) Next(now time.Time) (b *Batch[W], ended []*Item[W]) {
	for f.running == nil {
		if !f.inTurn && !f.beginTurn(now) {
			return nil, ended
		}
		f.batches++
		b := &Batch[W]{Lane: f.cur.lane, Turn: f.turns, serial: f.batches}
		ended = f.fillBatch(b, ended)
		if b.NumWindows > 0 {
			f.cur.first = false
			f.running, f.began = b, now
			f.considerAhead(now)
			return b, ended
		}
		f.endTurn()
	}
	return nil, ended
}

// More fills up to free places of the batch that runs, from what its turn has left (rule 12), and returns what joins;
// it's part of the batch from now on. Only policy windowed does so.
func (f *Former[W]) More(free int) (parts []Part[W], ended []*Item[W]) {
	if f.policy != Windowed || f.running == nil {
		return nil, nil
	}
	b := f.running
	before, windows := len(b.Parts), b.NumWindows
	if f.cur.lane == Recordings {
		ended = f.fillRecordings(b, min(free, f.quantum.planned), ended)
	} else {
		ended = f.fillFromTurn(b, free, ended)
	}
	b.Added += b.NumWindows - windows
	return b.Parts[before:], ended
}

// Finish says that one window of an item has ended well. It reports whether that was the item's
// last one: the Former has then dropped it.
func (f *Former[W]) Finish(it *Item[W], now time.Time) (ended bool) {
	if it.inFlight == 0 {
		return false
	}
	it.inFlight--
	f.running.wanted = f.running.wanted || it.phase != gone
	if it.inFlight > 0 || it.phase == gone || it.list != nil {
		return false
	}
	if len(it.ready) == 0 && !f.fetch(it, f.most(it)) {
		f.leave(it)
		if f.adapter != nil && it.Lane == Clips && it.err == nil {
			f.adapter.clipDone(now.Sub(it.arrived))
		}
		return true
	}
	switch {
	case f.policy != Windowed: // it goes on when the batch has ended: see Done
	case it.Lane == Clips && f.cur.lane == Clips:
		f.cur.items.pushFront(it)
	default:
		f.putBack(it)
	}
	return false
}

// Unfinished says that a window of an item has left its place before its end. It goes on in a later batch, as the first
// of the item's next windows (rule 12).
func (f *Former[W]) Unfinished(it *Item[W], w W) {
	if it.inFlight > 0 {
		f.running.left = append(f.running.left, Part[W]{it, []W{w}})
	}
}

// takeBack has the windows wait that have left their batch before their end, those of an item in the order in which they
// left.
func (f *Former[W]) takeBack(b *Batch[W]) {
	for _, p := range slices.Backward(b.left) {
		it := p.Item
		it.inFlight--
		if it.phase == gone {
			continue
		}
		b.wanted = true
		it.ready = append(p.Windows, it.ready...)
		if it.list == nil && f.policy == Windowed {
			f.putBack(it)
		}
	}
}

// putBack returns an item that goes on to its lane.
func (f *Former[W]) putBack(it *Item[W]) {
	switch {
	case it.Lane == Clips:
		f.clips.putBack(it)
	case it.lease > 0:
		f.recordings.hold(it)
	default:
		f.recordings.pushBack(it)
	}
}

// Done says that the batch that Next returned has run. Requests in it that failed must be removed first; the others
// go on with their next windows in a later batch, or are in ended.
func (f *Former[W]) Done(now time.Time) (ended []*Item[W]) {
	b := f.running
	if b == nil {
		return nil
	}
	f.takeBack(b)
	for _, p := range b.Parts {
		for range p.Windows {
			if f.Finish(p.Item, now) {
				ended = append(ended, p.Item)
			}
		}
	}
	f.running = nil
	f.measure(b, now)
	if f.policy != Windowed {
		for i := len(b.Parts) - 1; i >= 0; i-- {
			if it := b.Parts[i].Item; it.phase != gone && it.list == nil {
				f.cur.items.pushFront(it)
			}
		}
	}
	if f.turnIsOver() {
		f.endTurn()
	}
	return ended
}

// begin notes that windows of an item go into a batch.
func (f *Former[W]) begin(it *Item[W]) {
	if it.phase == waiting {
		f.numWaiting[it.Lane]--
		it.phase = started
	}
}

// leave forgets an item that is in no list any more.
func (f *Former[W]) leave(it *Item[W]) {
	if it.phase == waiting {
		f.numWaiting[it.Lane]--
	}
	it.phase = gone
	it.ready = nil
}
