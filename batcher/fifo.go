package batcher

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
