package batcher

// ranked is what a ranking holds.
type ranked[T any] interface {
	before(T) bool // whether it goes first
	setIndex(int)  // is told where in the ranking it is; -1 when it leaves
}

// ranking is a binary heap: the first goes before all others. With container/heap, which calls through one more
// interface and tells two of each swap, forming a batch took up to 1.3 times as long.
type ranking[T ranked[T]] []T

func (r *ranking[T]) add(x T) {
	*r = append(*r, x)
	r.up(len(*r)-1, x)
}

// remove takes out what is in place i.
func (r *ranking[T]) remove(i int) {
	h := *r
	h[i].setIndex(-1)
	n := len(h) - 1
	last := h[n]
	clear(h[n:])
	*r = h[:n]
	if i < n {
		r.fix(i, last)
	}
}

// fix puts x where it belongs, given a place i that is free or in which it no longer belongs.
func (r ranking[T]) fix(i int, x T) { r.up(r.down(i, x), x) }

// up puts x in the place i, which is free, or in one above.
func (r ranking[T]) up(i int, x T) {
	for i > 0 {
		parent := (i - 1) / 2
		if !x.before(r[parent]) {
			break
		}
		r.set(i, r[parent])
		i = parent
	}
	r.set(i, x)
}

// down frees a place for x, i or one below.
func (r ranking[T]) down(i int, x T) int {
	for child := 2*i + 1; child < len(r); child = 2*i + 1 {
		if child+1 < len(r) && r[child+1].before(r[child]) {
			child++
		}
		if !r[child].before(x) {
			break
		}
		r.set(i, r[child])
		i = child
	}
	return i
}

func (r ranking[T]) set(i int, x T) {
	r[i] = x
	x.setIndex(i)
}
