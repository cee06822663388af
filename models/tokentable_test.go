package models

import (
	"fmt"
	"testing"
)

// TestTokenTable holds the table to Go's map, from a size far too small on.
func TestTokenTable(t *testing.T) {
	var tokens [][]byte
	for i := range 3000 {
		tokens = append(tokens, fmt.Appendf(nil, "%o", i*i))
	}
	tokens = append(tokens, []byte{})
	table := newTokenTable(1)
	for id, token := range tokens {
		if _, ok := table.find(token, tokens); ok {
			t.Fatalf("%q is there before it is added", token)
		}
		if !table.add(token, int32(id), tokens) || table.add(token, 0, tokens) {
			t.Fatalf("%q can't be added once", token)
		}
	}
	for id, token := range tokens {
		if got, ok := table.find(token, tokens); !ok || got != int32(id) {
			t.Errorf("%q: got %d, %v, want %d", token, got, ok, id)
		}
	}
	if id, ok := table.find([]byte("9"), tokens); ok {
		t.Errorf("found %d for what is not there", id)
	}
	if _, ok := new(tokenTable).find([]byte("1"), nil); ok {
		t.Error("an empty table holds something")
	}
}
