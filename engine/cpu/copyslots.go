package cpu

import (
	"fmt"
	"slices"

	"hark/engine"
)

// aside stands for a slot in a copyStep: memory outside the cache.
const aside = -1

// copyStep copies the first positions of a slot to another one.
type copyStep struct{ to, from, positions int }

// copyTask does a plan of copies; a block is the keys or the values of one layer.
type copyTask struct {
	c       *cache
	steps   []copyStep
	pending []copyStep
	scratch scratch
}

// CopySlots copies slots to slots as if all copies were made at once.
func (d *Device) CopySlots(c engine.Cache, to, from []int32, lens []int) {
	cc := c.(*cache)
	if len(from) != len(to) || len(lens) != len(to) {
		panic(fmt.Sprintf("cpu: CopySlots: %d targets, %d sources, %d lengths", len(to), len(from), len(lens)))
	}
	t := d.copies.get()
	t.c, t.pending = cc, t.pending[:0]
	for i := range to {
		s := copyStep{int(to[i]), int(from[i]), lens[i]}
		if min(s.to, s.from, s.positions) < 0 || max(s.to, s.from) >= cc.slots || s.positions > cc.length {
			panic(fmt.Sprintf("cpu: CopySlots: %d positions of slot %d to slot %d, in %d slots of %d", s.positions,
				s.from, s.to, cc.slots, cc.length))
		}
		if slices.Contains(to[:i], to[i]) {
			panic(fmt.Sprintf("cpu: CopySlots: two copies to slot %d", s.to))
		}
		if s.to != s.from && s.positions > 0 {
			t.pending = append(t.pending, s)
		}
	}
	t.plan()
	if len(t.steps) > 0 {
		t.scratch.reserve(d.pool.threads)
		d.pool.run(2*cc.layers, t)
	}
	t.c = nil
	d.copies.put(t)
}

// plan puts the pending copies in an order in which no slot is overwritten before it was
// read. When none can go first, every target is read by exactly one other copy,
// as there are as many readers as targets: cycles. One is broken by putting a
// target aside, which is read from there before the next one needs the place.
func (t *copyTask) plan() {
	t.steps = t.steps[:0]
	for len(t.pending) > 0 {
		i := t.unread()
		if i < 0 {
			i = 0
			reader := t.reader(t.pending[0].to)
			t.steps = append(t.steps, copyStep{aside, reader.from, reader.positions})
			reader.from = aside
		}
		t.steps = append(t.steps, t.pending[i])
		last := len(t.pending) - 1
		t.pending[i] = t.pending[last]
		t.pending = t.pending[:last]
	}
}

// unread is the index of a pending copy whose target no pending copy reads, or -1.
func (t *copyTask) unread() int {
	for i := range t.pending {
		if t.reader(t.pending[i].to) == nil {
			return i
		}
	}
	return -1
}

// reader is a pending copy that reads a slot, or nil.
func (t *copyTask) reader(slot int) *copyStep {
	for i := range t.pending {
		if t.pending[i].from == slot {
			return &t.pending[i]
		}
	}
	return nil
}

func (t *copyTask) block(worker, i int) {
	data := t.c.keys
	if i >= t.c.layers {
		data, i = t.c.values, i-t.c.layers
	}
	slot := func(s, n int) []float32 {
		if s == aside {
			return t.scratch.get(worker, n)
		}
		return data[t.c.at(i, s, 0):][:n]
	}
	for _, s := range t.steps {
		n := s.positions * t.c.width
		copy(slot(s.to, n), slot(s.from, n))
	}
}
