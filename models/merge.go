package models

// merger joins the bytes of a piece into tokens. Its buffers serve one piece
// after the other.
type merger struct {
	// The parts of the piece are a linked list over byte positions: next[i] is
	// the end of the part that starts at i, which is the start of the part after
	// it, and prev the way back. next is -1 where no part starts any more.
	next, prev []int
	heap       []candidate
}

// candidate is a pair of adjacent parts, [left, mid) and [mid, end), that would
// make a token. It is stale once one of them has been joined.
type candidate struct {
	rank           int32
	left, mid, end int
}

// encode appends the tokens of one piece. The pair whose token has the lowest
// id is joined first, the leftmost of equals: ids are given in the order in
// which training found the merges.
func (m *merger) encode(t *Tokenizer, ids []int32, piece string) []int32 {
	if id, ok := t.ids[piece]; ok {
		return append(ids, id)
	}
	n := len(piece)
	m.next, m.prev, m.heap = m.next[:0], m.prev[:0], m.heap[:0]
	for i := range n {
		m.next = append(m.next, i+1)
		m.prev = append(m.prev, i-1)
	}
	for i := range n {
		m.consider(t, piece, i)
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
		m.consider(t, piece, c.left)
		if c.left > 0 {
			m.consider(t, piece, m.prev[c.left])
		}
	}
	for i := 0; i < n; i = m.next[i] {
		if id, ok := t.ids[piece[i:m.next[i]]]; ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// consider offers the pair that starts at left, if there is one and it makes a
// token.
func (m *merger) consider(t *Tokenizer, piece string, left int) {
	mid := m.next[left]
	if mid == len(piece) {
		return
	}
	end := m.next[mid]
	if end-left > t.longest {
		return
	}
	if id, ok := t.ids[piece[left:end]]; ok {
		m.push(candidate{id, left, mid, end})
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
