package batcher

// ring holds callers in the order in which they have their go: who had it goes to the end.
type ring[W any] struct {
	which      int // of caller.links
	head, tail *caller[W]
	n          int
}

func (r *ring[W]) has(c *caller[W]) bool { return c.links[r.which].in }

func (r *ring[W]) pushBack(c *caller[W]) {
	c.links[r.which] = link[W]{prev: r.tail, in: true}
	if r.tail == nil {
		r.head = c
	} else {
		r.tail.links[r.which].next = c
	}
	r.tail = c
	r.n++
}

func (r *ring[W]) pushFront(c *caller[W]) {
	c.links[r.which] = link[W]{next: r.head, in: true}
	if r.head == nil {
		r.tail = c
	} else {
		r.head.links[r.which].prev = c
	}
	r.head = c
	r.n++
}

func (r *ring[W]) remove(c *caller[W]) {
	l := c.links[r.which]
	if l.prev == nil {
		r.head = l.next
	} else {
		l.prev.links[r.which].next = l.next
	}
	if l.next == nil {
		r.tail = l.prev
	} else {
		l.next.links[r.which].prev = l.prev
	}
	c.links[r.which] = link[W]{}
	r.n--
}

// toEnd moves c behind everybody else.
func (r *ring[W]) toEnd(c *caller[W]) {
	r.remove(c)
	r.pushBack(c)
}

// link is a caller's place in a ring.
type link[W any] struct {
	prev, next *caller[W]
	in         bool
}
