package batcher

import (
	"fmt"
	"runtime/debug"
)

// fillBatch moves windows of the turn into b (rules 2 and 3; 9 and 10).
func (f *Former[W]) fillBatch(b *Batch[W], ended []*Item[W]) []*Item[W] {
	if f.policy != Windowed || b.Lane == Clips {
		ended = f.fillFromTurn(b, f.maxBatch, ended)
	} else {
		f.quantum.planned = f.plan()
		ended = f.fillRecordings(b, min(f.maxBatch, f.quantum.planned), ended)
	}
	if f.policy == Windowed && b.NumWindows > 0 {
		ended = f.backfill(b, ended)
	}
	return ended
}

// fillFromTurn moves requests from the head of the turn into b until the next one does not fit.
func (f *Former[W]) fillFromTurn(b *Batch[W], places int, ended []*Item[W]) []*Item[W] {
	for it := f.cur.items.head; it != nil; it = f.cur.items.head {
		if len(it.ready) == 0 && !f.fetch(it, f.most(it)) {
			f.cur.items.remove(it)
			f.leave(it)
			ended = append(ended, it)
			continue
		}
		if len(it.ready) > places {
			break
		}
		// A recording is alone in its turn, so that the audio cap meets clips only, except where there is one queue.
		if b.NumWindows > 0 && b.CostMillis+it.CostMillis > f.maxAudioMillis {
			break
		}
		f.cur.items.remove(it)
		f.begin(it)
		b.add(it, it.ready)
		places -= len(it.ready)
		it.ready = nil
	}
	return ended
}

// most is how many windows an item is asked for at once: a batch's worth, so that they always fit an empty batch, or
// more where they are handed on piece by piece.
func (f *Former[W]) most(it *Item[W]) int {
	if f.policy == Windowed && it.Lane == Recordings {
		return fetchWindows
	}
	return f.maxBatch
}

// fetch asks the item's work for its next windows; false if there are none.
func (f *Former[W]) fetch(it *Item[W], most int) bool {
	it.ready, it.err = callNext(it.Work, most)
	it.plenty = len(it.ready) == most
	return len(it.ready) > 0
}

// topUp asks for further windows before the last ones are gone, so that a recording that is alone fills its batches. It
// reports false if the item's work has failed.
func (f *Former[W]) topUp(it *Item[W]) bool {
	if !it.plenty || it.inFlight > 0 || len(it.ready) >= leaseWindows {
		return true
	}
	most := f.most(it)
	more, err := callNext(it.Work, most)
	it.plenty = len(more) == most
	it.ready = append(it.ready[:len(it.ready):len(it.ready)], more...)
	it.err = err
	return err == nil
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
