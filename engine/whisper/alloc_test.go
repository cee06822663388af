//go:build !race

package whisper

import (
	"testing"

	"hark/engine"
)

// TestNoAllocation runs a window's encoding and a step of the decoder again and again. Only what Select returns may be new: the
// choices, and the memory that they share for ids and for probabilities. (The race detector empties sync.Pools at random.)
func TestNoAllocation(t *testing.T) {
	m := tinyModel(t)
	frames, last := []int{framesPerWindow}, []int32{0, 1}
	rows := []row{{token: 1, position: 3}, {token: 2, position: 5, slot: 1, window: 1}}
	rules := make([]engine.Rule, len(rows))
	run := func() {
		positions := m.enc.run(frames, nil)
		for w := range int32(2) {
			m.dec.listen(w, positions)
		}
		m.dec.forward(rows, false, nil)
		if _, err := m.dev.Select(m.dec.logits(last), rules, 1); err != nil {
			t.Fatal(err)
		}
	}
	run()
	// One more for the kernels' scratch, which a collection may take.
	if n := testing.AllocsPerRun(50, run); n > 3+1 {
		t.Errorf("%v allocations", n)
	}
}
