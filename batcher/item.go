package batcher

import "time"

// Item is a request inside a Former. Make one with its Request set, add it to one Former, once.
type Item[W any] struct {
	Request[W]

	seq     uint64 // order of arrival
	arrived time.Time

	owner      *caller[W] // whose queue it is in, or came from
	list       *fifo[W]   // the list it is in; nil while its windows run and once it left
	prev, next *Item[W]
	heapIndex  int // in caller.cheap

	phase    phase
	owed     bool
	promoted bool
	ready    []W    // handed out by Work, not yet in a batch
	plenty   bool   // its Work handed out all that it was asked for
	inFlight int    // windows in the batch that runs
	lease    int    // windows it may still run before it goes to the lane's tail
	charged  int64  // what its caller has been charged for it, in ms
	batch    uint64 // the last batch that it was in
	arrival  int    // turns that had ended when it arrived
	waited   int
	err      error
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

// before reports whether it costs less than another one, or as much and came earlier.
func (it *Item[W]) before(other *Item[W]) bool {
	if it.CostMillis != other.CostMillis {
		return it.CostMillis < other.CostMillis
	}
	return it.seq < other.seq
}

func (it *Item[W]) setIndex(i int) { it.heapIndex = i }

// Part is what one request has in a batch.
type Part[W any] struct {
	Item    *Item[W]
	Windows []W // never empty
}

// Batch is what the device runs at once.
type Batch[W any] struct {
	Lane       Lane      // whose turn it is
	Turn       int       // serial number of its turn, from 1
	Parts      []Part[W] // in the turn's order; a request may have several once windows were added
	NumWindows int       // of all parts
	Backfilled int       // windows of these that belong to the other lane
	Added      int       // windows of these that joined while the batch ran
	CostMillis int64     // of all requests, each counted whole and once

	serial uint64
	left   []Part[W] // windows that left before their end
	wanted bool      // a window of it has ended for somebody who still waits
}

// Windows returns the windows of all parts in order, in a new slice.
func (b *Batch[W]) Windows() []W {
	all := make([]W, 0, b.NumWindows)
	for _, p := range b.Parts {
		all = append(all, p.Windows...)
	}
	return all
}

// add puts windows of it into the batch.
func (b *Batch[W]) add(it *Item[W], windows []W) {
	b.Parts = append(b.Parts, Part[W]{it, windows})
	b.NumWindows += len(windows)
	it.inFlight += len(windows)
	if it.batch != b.serial {
		it.batch = b.serial
		b.CostMillis += it.CostMillis
	}
}
