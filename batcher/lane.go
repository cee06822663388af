package batcher

import "container/heap"

// fifo is a doubly linked list of items in the order in which they are to be served. An item is in one list at most, so
// the links are its own and leaving costs the same wherever it stands.
type fifo[W any] struct {
	head, tail *Item[W]
	n          int
}

func (l *fifo[W]) pushBack(it *Item[W]) {
	it.list, it.prev, it.next = l, l.tail, nil
	if l.tail == nil {
		l.head = it
	} else {
		l.tail.next = it
	}
	l.tail = it
	l.n++
}

func (l *fifo[W]) pushFront(it *Item[W]) {
	it.list, it.prev, it.next = l, nil, l.head
	if l.head == nil {
		l.tail = it
	} else {
		l.head.prev = it
	}
	l.head = it
	l.n++
}

func (l *fifo[W]) remove(it *Item[W]) {
	if it.prev == nil {
		l.head = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		l.tail = it.prev
	} else {
		it.next.prev = it.prev
	}
	it.list, it.prev, it.next = nil, nil, nil
	l.n--
}

// byCost is a heap: the cheapest item first, of equal ones the oldest.
type byCost[W any] []*Item[W]

func (h byCost[W]) Len() int { return len(h) }

func (h byCost[W]) Less(i, j int) bool {
	if h[i].CostMillis != h[j].CostMillis {
		return h[i].CostMillis < h[j].CostMillis
	}
	return h[i].seq < h[j].seq
}

func (h byCost[W]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}

func (h *byCost[W]) Push(x any) {
	it := x.(*Item[W])
	it.heapIndex = len(*h)
	*h = append(*h, it)
}

func (h *byCost[W]) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return it
}

// clipLane holds the clips that wait for a turn.
//
// Whatever waits when a turn is filled and does not get in is owed from then on. So every owed clip is older than
// every fresh one, and two lists in arrival order are enough: a clip is sorted by cost only as long as it is fresh,
// and moves once.
type clipLane[W any] struct {
	owed  fifo[W]   // by arrival
	fresh fifo[W]   // by arrival: came since the last clip turn began
	cheap byCost[W] // the same items as fresh
}

func (l *clipLane[W]) len() int { return l.owed.n + l.fresh.n }

// oldest returns the clip that came first; nil if none waits.
func (l *clipLane[W]) oldest() *Item[W] {
	if l.owed.head != nil {
		return l.owed.head
	}
	return l.fresh.head
}

func (l *clipLane[W]) add(it *Item[W]) {
	l.fresh.pushBack(it)
	heap.Push(&l.cheap, it)
}

func (l *clipLane[W]) remove(it *Item[W]) {
	if it.list == &l.fresh {
		heap.Remove(&l.cheap, it.heapIndex)
	}
	it.list.remove(it)
}

// fill moves the clips of the next turn to the empty turn (rules 3 and 4) and returns what they cost together.
// What it leaves behind is owed.
func (l *clipLane[W]) fill(turn *fifo[W], capMillis int64) (costMillis int64) {
	for {
		it := l.owed.head
		if it == nil && len(l.cheap) > 0 {
			it = l.cheap[0]
		}
		if it == nil || turn.n > 0 && costMillis+it.CostMillis > capMillis {
			break
		}
		l.remove(it)
		turn.pushBack(it)
		costMillis += it.CostMillis
	}
	for it := l.fresh.head; it != nil; it = l.fresh.head {
		l.fresh.remove(it)
		l.owed.pushBack(it)
	}
	clear(l.cheap)
	l.cheap = l.cheap[:0]
	return costMillis
}
