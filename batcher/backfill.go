package batcher

import "math"

// backfillLimit is the most that one more window of the other lane may cost, as a part of the batch.
const backfillLimit = 0.05

// backfill decides whether windows of a lane may use free places in batches of the other.
type backfill struct {
	off   bool
	known bool    // such a batch has been measured
	ratio float64 // what a window added, as a part of the batch
	skip  int     // batches to let pass before it is tried again
}

// retryBackfill is how many batches pass before back-filling that has proved too dear is tried again.
const retryBackfill = 64

// worth reports whether one more window, by what its lane has measured, costs less than backfillLimit of a batch that
// takes so many seconds.
func (b *backfill) worth(lane *meter, seconds float64) bool {
	if b.off || lane.distinct < 2 || seconds <= 0 || lane.marginal() >= backfillLimit*seconds {
		return false
	}
	if b.skip > 0 {
		b.skip--
		return false
	}
	return true
}

// observe notes what each window added to a batch, as a part of it.
func (b *backfill) observe(ratio float64) {
	if math.IsNaN(ratio) {
		return
	}
	if b.known {
		ratio = b.ratio + smoothing*(ratio-b.ratio)
	}
	b.known, b.ratio = true, ratio
	if b.ratio >= backfillLimit {
		b.known, b.skip = false, retryBackfill
	}
}

// backfill gives free places to the other lane where that costs next to nothing (rule 13).
func (f *Former[W]) backfill(b *Batch[W], ended []*Item[W]) []*Item[W] {
	other := 1 - b.Lane
	free := f.maxBatch - b.NumWindows
	own := &f.meters[b.Lane]
	if free <= 0 || !own.knows(b.NumWindows) || !f.backfills[other].worth(&f.meters[other], own.time(b.NumWindows)) {
		return ended
	}
	windows := b.NumWindows
	if other == Recordings {
		ended = f.fillRecordings(b, free, ended)
	} else {
		ended = f.backfillClips(b, ended)
	}
	b.Backfilled = b.NumWindows - windows
	return ended
}

// backfillClips adds the clips that a turn would begin with, as far as they fit beside the recordings.
func (f *Former[W]) backfillClips(b *Batch[W], ended []*Item[W]) []*Item[W] {
	l := &f.clips
	left := f.capMillis
	for b.NumWindows < f.maxBatch {
		var it *Item[W]
		if l.owing.n > 0 {
			it = l.owing.head.queue.head
		} else if c := l.least(); c != nil {
			it = c.cheap[0]
		}
		if it == nil || it.CostMillis > left {
			break
		}
		if len(it.ready) == 0 && !f.fetch(it, f.most(it)) {
			l.remove(it)
			f.leave(it)
			ended = append(ended, it)
			continue
		}
		if b.NumWindows+len(it.ready) > f.maxBatch {
			break
		}
		left -= it.CostMillis
		c := it.owner
		l.charge(it, it.CostMillis)
		l.remove(it)
		if l.owing.has(c) {
			l.owing.toEnd(c)
		}
		if it.phase == waiting {
			it.waited = max(0, f.turns-1-it.arrival)
		}
		f.begin(it)
		b.add(it, it.ready)
		it.ready = nil
	}
	return ended
}
