package batcher

import "time"

// measure notes what a batch took.
func (f *Former[W]) measure(b *Batch[W], now time.Time) {
	if !b.wanted { // it may have been cut short
		return
	}
	took := now.Sub(f.began)
	seconds := took.Seconds()
	own := b.NumWindows - b.Backfilled
	switch {
	case b.Added > 0: // no size to hold it to
	case b.Backfilled > 0 && !f.meters[b.Lane].knows(own):
	case b.Backfilled > 0:
		// The other lane's windows are no part of what the turn is measured by.
		before := f.meters[b.Lane].time(own)
		f.backfills[1-b.Lane].observe((seconds - before) / float64(b.Backfilled) / before)
		seconds = min(seconds, before)
	default:
		f.meters[b.Lane].observe(own, seconds)
	}
	f.turnSoFar += seconds
	if b.Lane == Recordings {
		f.quantum.balance -= seconds
		return
	}
	f.quantum.clipTurn = seconds
	if f.adapter != nil && f.adapter.batchDone(now, own, b.CostMillis, took) {
		f.capMillis = f.adapter.cap()
		f.batchWait = f.adapter.batchWait()
	}
}

// noteTurn smooths the lengths of turns.
func (f *Former[W]) noteTurn() {
	if f.turnSoFar == 0 {
		return
	}
	length := &f.turnLength[f.cur.lane]
	if *length == 0 {
		*length = f.turnSoFar
	} else {
		*length += smoothing * (f.turnSoFar - *length)
	}
	f.turnSoFar = 0
}
