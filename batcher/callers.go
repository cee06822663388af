package batcher

// caller is what one caller has waiting in a lane.
type caller[W any] struct {
	key   string
	queue fifo[W]           // clips that are owed, by arrival; recordings, in the order in which they go on
	fresh fifo[W]           // clips by arrival: came since the last clip turn was filled
	cheap ranking[*Item[W]] // the same clips as fresh

	// tag is the virtual time of start-time fair queueing (Goyal, Vin, Cheng 1996): what the caller was served, in ms
	// of cost by its weight, counted from where the others stood when it came. The lowest goes next.
	tag       int64
	weight    float64 // as its last request has it
	heapIndex int     // in callers.active; -1 while nothing waits

	links [2]link[W] // in clipLane.owing and clipLane.coming
}

func (c *caller[W]) len() int { return c.queue.n + c.fresh.n }

// before reports whether c was served less than d. Equal ones go by name, so that the order is always the same.
func (c *caller[W]) before(d *caller[W]) bool {
	if c.tag != d.tag {
		return c.tag < d.tag
	}
	return c.key < d.key
}

func (c *caller[W]) setIndex(i int) { c.heapIndex = i }

// callers are the callers of a lane. Who waits is in active; who does not is remembered only as long as it has been
// served more than those who wait, so that coming back at once gives no advantage.
type callers[W any] struct {
	byKey  map[string]*caller[W]
	active ranking[*caller[W]]
	floor  int64 // the lowest tag there was among the active ones; never goes back
}

// of returns the caller of that name, who has sent it.
func (s *callers[W]) of(it *Item[W], key string) *caller[W] {
	c := s.get(key)
	c.weight = it.weight()
	return c
}

// weight is that of all who wait.
func (s *callers[W]) weight() (sum float64) {
	for _, c := range s.active {
		sum += c.weight
	}
	return sum
}

// get returns the caller of that name.
func (s *callers[W]) get(key string) *caller[W] {
	c := s.byKey[key]
	if c == nil {
		if s.byKey == nil {
			s.byKey = make(map[string]*caller[W])
		}
		c = &caller[W]{key: key, heapIndex: -1}
		s.byKey[key] = c
	}
	return c
}

// update puts c where it belongs after something was added to it or taken away.
func (s *callers[W]) update(c *caller[W]) {
	switch {
	case c.len() > 0 && c.heapIndex < 0:
		if len(s.active) > 0 {
			s.floor = max(s.floor, s.active[0].tag)
		}
		c.tag = max(c.tag, s.floor)
		s.active.add(c)
	case c.len() == 0 && c.heapIndex >= 0:
		s.floor = max(s.floor, s.active[0].tag)
		s.active.remove(c.heapIndex)
		if c.tag <= s.floor {
			delete(s.byKey, c.key)
		}
		if len(s.byKey) > 64+2*len(s.active) {
			s.forget()
		}
	}
}

// forget drops the callers that wait for nothing: those who are ahead of nobody, and all of them when there are too
// many to remember.
func (s *callers[W]) forget() {
	all := len(s.byKey) > 1024+4*len(s.active)
	for key, c := range s.byKey {
		if c.heapIndex < 0 && (all || c.tag <= s.floor) {
			delete(s.byKey, key)
		}
	}
}

// charge adds what an item's caller is served.
func (s *callers[W]) charge(it *Item[W], costMillis int64) {
	c := it.owner
	if known := s.byKey[c.key]; known != nil {
		c = known
	} else {
		s.byKey[c.key] = c // it had been forgotten, which it must not be now
	}
	it.owner = c
	c.tag = max(c.tag, s.floor) + max(int64(float64(costMillis)/it.weight()), 1)
	if c.heapIndex >= 0 {
		s.active.fix(c.heapIndex, c)
	}
}

// least returns who has been served least of those who wait, or nil.
func (s *callers[W]) least() *caller[W] {
	if len(s.active) == 0 {
		return nil
	}
	return s.active[0]
}
