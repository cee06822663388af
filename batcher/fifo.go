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
