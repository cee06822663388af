//go:build !race

package whisper

import (
	"testing"

	"hark/engine"
	"hark/engine/cpu"
)

// TestNoAllocation runs a window's encoding and a step of the decoder again and again, in every precision. Only
// what Select returns may be new: the choices, and the memory that they share for ids and for probabilities. (The
// race detector empties sync.Pools at random.)
func TestNoAllocation(t *testing.T) {
	dev, err := cpu.New(cpu.Config{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	dir := t.TempDir()
	writeTinyModel(t, dir)
	for _, p := range []cpu.Precision{cpu.F32, cpu.BF16, cpu.Int8, cpu.Int8Encoder} {
		m, err := Load(dev.At(p), dir, "tiny-random", Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if n := allocations(t, m); n > 3+1 {
			t.Errorf("%v: %v allocations", p, n)
		}
		m.Close()
	}
}

// allocations is how often encoding two windows, one whole and one short, and a step allocate, one more for the
// kernels' scratch, which a collection may take.
func allocations(t *testing.T, m *Model) float64 {
	whole, short, last := []int{framesPerWindow}, []int{608}, []int32{0, 1}
	rows := []row{{token: 1, position: 3}, {token: 2, position: 5, slot: 1, window: 1}}
	rules := make([]engine.Rule, len(rows))
	run := func() {
		m.dec.listen(0, m.enc.run(whole, wholeView, nil), wholeView)
		m.dec.listen(1, m.enc.run(short, shortView, nil), shortView)
		m.dec.forward(rows, false, nil)
		if _, err := m.dev.Select(m.dec.logits(last), rules, 1); err != nil {
			t.Fatal(err)
		}
	}
	run()
	return testing.AllocsPerRun(20, run)
}
