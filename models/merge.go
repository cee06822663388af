package models

// partRanks is a vocabulary as merging sees it.
type partRanks interface {
	// rank returns how soon the pair that makes this part is joined, the lowest
	// first; false if it's no part of the vocabulary.
	rank(part string) (int32, bool)
	// longestPart is the length of the longest part, in bytes.
	longestPart() int
}

// merger joins the smallest parts of a text into those of a vocabulary. Its
// buffers serve one text after the other.
type merger struct {
	// The parts of the text are a linked list over byte positions: next[i] is
	// the end of the part that starts at i, which is the start of the part after
	// it, and prev the way back. next is -1 where no part starts any more.
	next, prev []int
	heap       []candidate
}

// candidate is a pair of adjacent parts, [left, mid) and [mid, end), that would
// make a part. It is stale once one of them has been joined.
type candidate struct {
	rank           int32
	left, mid, end int
}

// merge calls visit for every part of the text, in order, once all pairs that
// can be joined have been: the pair of the lowest rank first, the leftmost of
// equals. first returns the length of the smallest part at the start of a text.
func (m *merger) merge(ranks partRanks, text string, first func(text string) int, visit func(part string)) {
	n := len(text)
	m.next, m.prev, m.heap = m.next[:0], m.prev[:0], m.heap[:0]
	for at, before := 0, -1; at < n; {
		end := at + first(text[at:])
		m.next, m.prev = append(m.next, end), append(m.prev, before)
		for range end - at - 1 {
			m.next, m.prev = append(m.next, -1), append(m.prev, -1)
		}
		at, before = end, at
	}
	for i := 0; i < n; i = m.next[i] {
		m.consider(ranks, text, i)
	}
	for len(m.heap) > 0 {
		c := m.pop()
		if m.next[c.left] != c.mid || m.next[c.mid] != c.end {
			continue
		}
		m.next[c.left], m.next[c.mid] = c.end, -1
		if c.end < n {
			m.prev[c.end] = c.left
		}
		m.consider(ranks, text, c.left)
		if c.left > 0 {
			m.consider(ranks, text, m.prev[c.left])
		}
	}
	for i := 0; i < n; i = m.next[i] {
		visit(text[i:m.next[i]])
	}
}

// consider offers the pair that starts at left, if there is one and it makes a
// part of the vocabulary.
func (m *merger) consider(ranks partRanks, text string, left int) {
	mid := m.next[left]
	if mid == len(text) {
		return
	}
	end := m.next[mid]
	if end-left > ranks.longestPart() {
		return
	}
	if rank, ok := ranks.rank(text[left:end]); ok {
		m.push(candidate{rank, left, mid, end})
	}
}

func (c candidate) before(o candidate) bool {
	return c.rank < o.rank || c.rank == o.rank && c.left < o.left
}

// push and pop keep a binary heap; container/heap would allocate for each.
func (m *merger) push(c candidate) {
	m.heap = append(m.heap, c)
	for i := len(m.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !m.heap[i].before(m.heap[up]) {
			break
		}
		m.heap[i], m.heap[up] = m.heap[up], m.heap[i]
		i = up
	}
}

func (m *merger) pop() candidate {
	top, last := m.heap[0], len(m.heap)-1
	m.heap[0] = m.heap[last]
	m.heap = m.heap[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && m.heap[child+1].before(m.heap[child]) {
			child++
		}
		if !m.heap[child].before(m.heap[i]) {
			return top
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}
