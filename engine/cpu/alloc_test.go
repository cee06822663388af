//go:build !race

package cpu

import "testing"

// TestNoAllocation does not count under the race detector, which empties sync.Pools at random.
func TestNoAllocation(t *testing.T) {
	for _, threads := range []int{1, 3} {
		g := newDecoder(newDevice(t, threads))
		g.run()
		// The kernels keep scratch in a sync.Pool, which a collection may empty.
		if n := testing.AllocsPerRun(50, g.run); n > 1 {
			t.Errorf("%d threads: %v allocations in a run of all operations", threads, n)
		}
	}
}
