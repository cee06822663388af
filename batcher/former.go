package batcher

import (
	"fmt"
	"runtime/debug"
	"time"
)

// Item is a request inside a Former. Make one with its Request set, add it to one Former, once.
type Item[W any] struct {
	Request[W]

	seq     uint64 // order of arrival
	arrived time.Time

	list       *fifo[W] // the list it is in: a lane's or the turn's; nil while its windows run and once it left
	prev, next *Item[W]
	heapIndex  int // in clipLane.cheap

	phase   phase
	ready   []W // handed out by Work, not yet in a batch
	arrival int // turns that had ended when it arrived
	waited  int
	err     error
}

type phase uint8

const (
	waiting phase = iota // no window of it has been in a batch
	started
	gone // ended or removed
)

// TurnsWaited returns how many turns, of either lane, the item saw before its own began, the one under way when it
// arrived included; 0 until then.
func (it *Item[W]) TurnsWaited() int { return it.waited }

// Err returns why the item ended early: its Work panicked or broke its contract. Nil for one that ended well, or was
// removed.
func (it *Item[W]) Err() error { return it.err }

// Part is what one request has in a batch.
type Part[W any] struct {
	Item    *Item[W]
	Windows []W // never empty
}

// Batch is what the device runs at once.
type Batch[W any] struct {
	Lane       Lane
	Turn       int       // serial number of its turn, from 1
	Parts      []Part[W] // one for each request, in the turn's order
	NumWindows int       // of all parts
	CostMillis int64     // of all requests, each counted whole
}

// Windows returns the windows of all parts in order, in a new slice.
func (b *Batch[W]) Windows() []W {
	all := make([]W, 0, b.NumWindows)
	for _, p := range b.Parts {
		all = append(all, p.Windows...)
	}
	return all
}

// Former holds two lanes and forms turns and batches from them by the rules of the package comment. It's
// deterministic: the same calls give the same batches. It isn't safe for concurrent use.
//
// The driver's cycle is Next, run the batch, Remove what failed, Done; Add and Remove may come at any time between.
type Former[W any] struct {
	maxBatch       int
	maxAudioMillis int64
	capMillis      int64
	batchWait      time.Duration

	clips      clipLane[W]
	recordings fifo[W]
	numWaiting [numLanes]int // items in phase waiting, whether in a lane or in the turn

	seq      uint64
	turns    int  // begun so far
	last     Lane // lane of the last turn; counts once turns > 0
	inTurn   bool
	turn     fifo[W] // of the turn under way: what waits for its next batch, in order
	turnCost int64
	turnSize int
	running  *Batch[W]

	holdUntil time.Time
}

// NewFormer returns an empty Former with c's MaxBatch, MaxBatchAudioMillis, CostCapMillis and BatchWait; it uses
// no other field.
func NewFormer[W any](c Config) *Former[W] {
	c = c.withDefaults()
	return &Former[W]{
		maxBatch:       c.MaxBatch,
		maxAudioMillis: c.MaxBatchAudioMillis,
		capMillis:      c.CostCapMillis,
		batchWait:      c.BatchWait,
	}
}

// Waiting returns how many requests of a lane wait: those of which no window has been in a batch.
func (f *Former[W]) Waiting(l Lane) int { return f.numWaiting[l] }

// Owed returns how many clips are owed a place, because a turn could not fit them.
func (f *Former[W]) Owed() int { return f.clips.owed.n }

// InTurn reports whether a turn is under way: a batch of it runs, or another one is to come.
func (f *Former[W]) InTurn() bool { return f.inTurn }

// Add puts an item at the tail of its lane.
func (f *Former[W]) Add(it *Item[W], now time.Time) {
	if !f.inTurn && f.clips.len() == 0 && f.recordings.n == 0 {
		f.holdUntil = now.Add(f.batchWait)
	}
	f.seq++
	it.seq, it.arrived, it.arrival = f.seq, now, f.turns
	if f.inTurn {
		it.arrival--
	}
	f.numWaiting[it.Lane]++
	if it.Lane == Recordings {
		f.recordings.pushBack(it)
	} else {
		f.clips.add(it)
	}
}

// Remove takes an item out, wherever it is: its request hung up or failed. Windows of it that run now run on, but
// no further one gets into a batch, and its Work isn't asked again. Removing what has ended or left does nothing.
func (f *Former[W]) Remove(it *Item[W]) {
	if it.phase == gone {
		return
	}
	switch it.list {
	case nil: // runs
	case &f.recordings, &f.turn:
		it.list.remove(it)
	default:
		f.clips.remove(it)
	}
	f.leave(it)
	if f.inTurn && f.turn.n == 0 && f.running == nil {
		f.endTurn()
	}
}

// Hold reports whether the driver should wait with Next, and until when unless something arrives before. A clip that
// is alone when the device has nothing to do is held for company until the batch wait after its arrival has passed. The
// hold ends early when there is a full batch or a full turn, and when a recording comes, since there is work then.
func (f *Former[W]) Hold(now time.Time) (until time.Time, hold bool) {
	if f.inTurn || f.recordings.n > 0 || f.clips.len() == 0 || !now.Before(f.holdUntil) {
		return time.Time{}, false
	}
	if f.clips.len() >= f.maxBatch {
		return time.Time{}, false
	}
	var cost int64
	for _, l := range []*fifo[W]{&f.clips.owed, &f.clips.fresh} {
		for it := l.head; it != nil; it = it.next {
			cost += it.CostMillis
		}
	}
	if cost >= min(f.capMillis, f.maxAudioMillis) {
		return time.Time{}, false
	}
	return f.holdUntil, true
}

// Next forms the next batch: of the turn under way, else of a turn that begins now. It returns nil when there is no
// work, and while a batch runs. ended are requests found to have no windows (left), or to have failed ([Item.Err]); the
// Former has dropped them.
func (f *Former[W]) Next() (b *Batch[W], ended []*Item[W]) {
	for f.running == nil {
		if !f.inTurn && !f.beginTurn() {
			return nil, ended
		}
		b := &Batch[W]{Lane: f.last, Turn: f.turns}
		ended = f.fillBatch(b, ended)
		if b.NumWindows > 0 {
			f.running = b
			return b, ended
		}
		f.endTurn()
	}
	return nil, ended
}

// Done says that the batch that Next returned has run. Requests in it that failed must be removed first; the others
// go on with their next windows in the turn's next batch, or are in ended.
func (f *Former[W]) Done() (ended []*Item[W]) {
	b := f.running
	if b == nil {
		return nil
	}
	f.running = nil
	var more []*Item[W]
	for _, p := range b.Parts {
		switch {
		case p.Item.phase == gone:
		case f.fetch(p.Item):
			more = append(more, p.Item)
		default:
			f.leave(p.Item)
			ended = append(ended, p.Item)
		}
	}
	for i := len(more) - 1; i >= 0; i-- {
		f.turn.pushFront(more[i])
	}
	if f.turn.n == 0 {
		f.endTurn()
	}
	return ended
}

// beginTurn gives a lane its turn (rule 1) and binds the turn's requests (rules 2 to 4); false if nobody waits.
func (f *Former[W]) beginTurn() bool {
	lane := Clips
	switch clip, recording := f.clips.oldest(), f.recordings.head; {
	case clip == nil && recording == nil:
		return false
	case clip == nil:
		lane = Recordings
	case recording == nil:
	case f.turns == 0:
		if recording.seq < clip.seq {
			lane = Recordings
		}
	case f.last == Clips:
		lane = Recordings
	}

	if lane == Recordings {
		it := f.recordings.head
		f.recordings.remove(it)
		f.turn.pushBack(it)
		f.turnCost = it.CostMillis
	} else {
		f.turnCost = f.clips.fill(&f.turn, f.capMillis)
	}
	for it := f.turn.head; it != nil; it = it.next {
		it.waited = f.turns - it.arrival
	}
	f.turnSize = f.turn.n
	f.last, f.inTurn = lane, true
	f.turns++
	return true
}

func (f *Former[W]) endTurn() {
	f.inTurn = false
	f.holdUntil = time.Time{}
	if f.clips.len() == 1 && f.recordings.n == 0 {
		f.holdUntil = f.clips.oldest().arrived.Add(f.batchWait)
	}
}

// fillBatch moves requests from the head of the turn into b until the next one does not fit (rules 2 and 3).
func (f *Former[W]) fillBatch(b *Batch[W], ended []*Item[W]) []*Item[W] {
	for it := f.turn.head; it != nil; it = f.turn.head {
		if len(it.ready) == 0 && !f.fetch(it) {
			f.turn.remove(it)
			f.leave(it)
			ended = append(ended, it)
			continue
		}
		if b.NumWindows+len(it.ready) > f.maxBatch {
			break
		}
		// A recording is alone in its turn, so the audio cap meets clips only.
		if b.NumWindows > 0 && b.CostMillis+it.CostMillis > f.maxAudioMillis {
			break
		}
		f.turn.remove(it)
		if it.phase == waiting {
			f.numWaiting[it.Lane]--
			it.phase = started
		}
		b.Parts = append(b.Parts, Part[W]{it, it.ready})
		b.NumWindows += len(it.ready)
		b.CostMillis += it.CostMillis
		it.ready = nil
	}
	return ended
}

// leave forgets an item that is in no list any more.
func (f *Former[W]) leave(it *Item[W]) {
	if it.phase == waiting {
		f.numWaiting[it.Lane]--
	}
	it.phase = gone
	it.ready = nil
}

// fetch asks the item's work for its next windows; false if there are none. A batch's worth at most, so that they
// always fit an empty batch.
func (f *Former[W]) fetch(it *Item[W]) bool {
	it.ready, it.err = callNext(it.Work, f.maxBatch)
	return len(it.ready) > 0
}

func callNext[W any](work Work[W], max int) (windows []W, err error) {
	defer func() {
		if v := recover(); v != nil {
			windows, err = nil, &PanicError{v, debug.Stack()}
		}
	}()
	windows = work.Next(max)
	if len(windows) > max {
		return nil, fmt.Errorf("batcher: work handed out %d windows, at most %d were asked for", len(windows), max)
	}
	return windows, nil
}
