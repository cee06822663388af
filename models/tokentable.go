package models

import (
	"bytes"
	"hash/maphash"
)

// tokenTable finds tokens' ids by their bytes. It is Go's map for a vocabulary that is filled once, at every start:
// open addressing with linear probing (Knuth, "The Art of Computer Programming", volume 3, section 6.4, algorithm L),
// at most half full, which takes a quarter of the time. The zero value holds nothing.
type tokenTable struct {
	seed  maphash.Seed
	slots []tokenSlot // a power of two of them
	used  int
}

// tokenSlot is one token: some bits of its hash, so that hardly any other's bytes are
// looked at, and its id plus one, or 0 for none.
type tokenSlot struct {
	hash uint32
	next int32
}

// newTokenTable has room for n tokens, which may become more.
func newTokenTable(n int) tokenTable {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return tokenTable{seed: maphash.MakeSeed(), slots: make([]tokenSlot, size)}
}

// find returns the id of a token, whose bytes are to be at its id in tokens.
func (t *tokenTable) find(token []byte, tokens [][]byte) (id int32, ok bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	slot := t.slots[t.place(maphash.Bytes(t.seed, token), token, tokens)]
	return slot.next - 1, slot.next > 0
}

// add adds a token under its id, and reports whether it is new; if not, nothing changes.
// tokens[id] is not looked at before the next call.
func (t *tokenTable) add(token []byte, id int32, tokens [][]byte) bool {
	if 2*t.used >= len(t.slots) {
		t.grow(tokens)
	}
	hash := maphash.Bytes(t.seed, token)
	slot := &t.slots[t.place(hash, token, tokens)]
	if slot.next > 0 {
		return false
	}
	*slot = tokenSlot{uint32(hash), id + 1}
	t.used++
	return true
}

// place is the slot that holds a token, or the free one where it belongs.
func (t *tokenTable) place(hash uint64, token []byte, tokens [][]byte) int {
	mask := len(t.slots) - 1
	at := int(hash>>32) & mask
	for s := t.slots[at]; s.next > 0; s = t.slots[at] {
		if s.hash == uint32(hash) && bytes.Equal(tokens[s.next-1], token) {
			break
		}
		at = (at + 1) & mask
	}
	return at
}

// grow doubles the slots.
func (t *tokenTable) grow(tokens [][]byte) {
	bigger := newTokenTable(len(t.slots))
	for _, s := range t.slots {
		if s.next > 0 {
			bigger.add(tokens[s.next-1], s.next-1, tokens)
		}
	}
	*t = bigger
}
