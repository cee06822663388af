package main

import "testing"

// TestGuards: every guard is still in one place of its file, and so can be taken away.
func TestGuards(t *testing.T) {
	t.Chdir("../..")
	for _, m := range mutants {
		if _, err := m.mutate(); err != nil {
			t.Errorf("%s: %v", m.guard, err)
		}
	}
}
