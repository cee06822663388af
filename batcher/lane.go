package batcher

import "time"

// clipLane holds the clips that wait for a turn.
//
// Whatever waits when a turn is filled and does not get in is owed from then on. So every owed clip of a caller is
// older than every fresh one of his, and two lists in arrival order are enough: a clip is sorted by cost only as long
// as it is fresh, and moves once. Under policy lanes there is one caller, to whom everything belongs.
type clipLane[W any] struct {
	callers[W]
	owing  ring[W] // callers that are owed a clip
	coming ring[W] // callers with fresh clips
	n      int
	owed   int
	cost   int64 // of all that waits, in ms
}

func newClipLane[W any]() clipLane[W] { return clipLane[W]{coming: ring[W]{which: 1}} }

// add puts a clip among the fresh ones of its caller.
func (l *clipLane[W]) add(it *Item[W], key string) {
	c := l.of(it, key)
	it.owner = c
	c.fresh.pushBack(it)
	c.cheap.add(it)
	if !l.coming.has(c) {
		l.coming.pushBack(c)
	}
	l.n++
	l.cost += it.CostMillis
	l.update(c)
}

func (l *clipLane[W]) remove(it *Item[W]) {
	c := it.owner
	if it.list == &c.fresh {
		c.cheap.remove(it.heapIndex)
	} else {
		l.owed--
	}
	it.list.remove(it)
	if c.queue.n == 0 && l.owing.has(c) {
		l.owing.remove(c)
	}
	if c.fresh.n == 0 && l.coming.has(c) {
		l.coming.remove(c)
	}
	l.n--
	l.cost -= it.CostMillis
	l.update(c)
}

// putBack returns a clip that a turn took and could not finish; it is the first that is owed.
func (l *clipLane[W]) putBack(it *Item[W]) {
	c := l.of(it, it.owner.key) // it may have been forgotten meanwhile
	it.owner, it.owed = c, true
	c.queue.pushFront(it)
	if l.owing.has(c) {
		l.owing.remove(c)
	}
	l.owing.pushFront(c)
	l.n++
	l.owed++
	l.cost += it.CostMillis
	l.update(c)
}

// oldest returns the clip that came first; nil if none waits.
func (l *clipLane[W]) oldest() (oldest *Item[W]) {
	for _, c := range l.active {
		for _, it := range [...]*Item[W]{c.queue.head, c.fresh.head} {
			if it != nil && (oldest == nil || it.seq < oldest.seq) {
				oldest = it
			}
		}
	}
	return oldest
}

// fill moves the clips of the next turn to the empty turn t (rules 3 and 4): at most maxClips, which together cost at
// most capMillis. What it leaves behind is owed.
//
// Every caller that is owed a clip gets its oldest in, in rotation. Then whoever was served least is next, with what it
// is owed before what is fresh. Filling stops at the first clip that does not fit.
func (l *clipLane[W]) fill(t *turn[W], maxClips int, capMillis int64) {
	l.take(t, maxClips, capMillis)
	for c := l.coming.head; c != nil; c = l.coming.head {
		l.coming.remove(c)
		for it := c.fresh.head; it != nil; it = c.fresh.head {
			c.fresh.remove(it)
			it.owed = true
			c.queue.pushBack(it)
			l.owed++
		}
		clear(c.cheap)
		c.cheap = c.cheap[:0]
		if !l.owing.has(c) {
			l.owing.pushBack(c)
		}
	}
}

func (l *clipLane[W]) take(t *turn[W], maxClips int, capMillis int64) {
	for range l.owing.n {
		c := l.owing.head
		if !l.move(c.queue.head, t, maxClips, capMillis) {
			return
		}
		if l.owing.has(c) {
			l.owing.toEnd(c)
		}
	}
	for c := l.least(); c != nil; c = l.least() {
		it := c.queue.head
		if it == nil {
			it = c.cheap[0]
		}
		if !l.move(it, t, maxClips, capMillis) {
			return
		}
	}
}

// pack moves the requests of one batch to the empty turn t by plain packing (rule 5): what is owed, then the oldest
// request if it came before the time aged, then the cheapest; at most maxClips, which together cost at most capMillis.
// It is for a lane with one caller.
func (l *clipLane[W]) pack(t *turn[W], maxClips int, capMillis int64, aged time.Time) {
	c := l.least()
	if c == nil {
		return
	}
	if it := c.fresh.head; c.queue.n == 0 && it.arrived.Before(aged) {
		it.promoted = it != c.cheap[0]
		l.move(it, t, maxClips, capMillis)
	}
	for c.len() > 0 {
		it := c.queue.head
		if it == nil {
			it = c.cheap[0]
		}
		if !l.move(it, t, maxClips, capMillis) {
			return
		}
	}
}

// move takes one clip into the turn, unless it does not fit. The first always does.
func (l *clipLane[W]) move(it *Item[W], t *turn[W], maxClips int, capMillis int64) bool {
	if t.items.n >= maxClips || t.items.n > 0 && t.cost+it.CostMillis > capMillis {
		return false
	}
	l.charge(it, it.CostMillis)
	l.remove(it)
	t.items.pushBack(it)
	t.cost += it.CostMillis
	t.size++
	return true
}

// recordingLane holds the recordings that wait for the device. Under policy lanes there is one caller.
type recordingLane[W any] struct {
	callers[W]
	held fifo[W] // those that have begun their stretch of windows and keep the lane, before everybody else
	n    int     // of all, held ones included
	cost int64   // of all that waits, in ms, as far as it was not charged yet
}

func (l *recordingLane[W]) add(it *Item[W], key string) {
	it.owner = l.of(it, key)
	l.pushBack(it)
}

func (l *recordingLane[W]) pushBack(it *Item[W]) {
	c := l.of(it, it.owner.key) // it may have been forgotten meanwhile
	it.owner = c
	c.queue.pushBack(it)
	l.n++
	l.cost += it.CostMillis - it.charged
	l.update(c)
}

// hold puts a recording back that may go on.
func (l *recordingLane[W]) hold(it *Item[W]) {
	l.held.pushBack(it)
	l.n++
	l.cost += it.CostMillis - it.charged
}

// holdFirst puts the recording back that was just at the head.
func (l *recordingLane[W]) holdFirst(it *Item[W]) {
	l.held.pushFront(it)
	l.n++
	l.cost += it.CostMillis - it.charged
}

func (l *recordingLane[W]) remove(it *Item[W]) {
	list := it.list
	list.remove(it)
	l.n--
	l.cost -= it.CostMillis - it.charged
	if list != &l.held {
		l.update(it.owner)
	}
}

// head returns the recording to go on with; nil if none waits.
func (l *recordingLane[W]) head() *Item[W] {
	if l.held.head != nil {
		return l.held.head
	}
	if c := l.least(); c != nil {
		return c.queue.head
	}
	return nil
}

// oldest returns the recording that came first; nil if none waits.
func (l *recordingLane[W]) oldest() (oldest *Item[W]) {
	oldest = l.held.head
	for _, c := range l.active {
		if it := c.queue.head; it != nil && (oldest == nil || it.seq < oldest.seq) {
			oldest = it
		}
	}
	return oldest
}
