//go:build !race

package cpu

import "testing"

// TestNoAllocation does not count under the race detector, which empties sync.Pools at random.
func TestNoAllocation(t *testing.T) {
	for _, threads := range []int{1, 3} {
		for _, p := range []Precision{F32, BF16, Int8, int8Output, Int8Fast} {
			d := newDevice(t, threads).At(p)
			for name, run := range map[string]func(){"whisper": newDecoder(d).run, "conformer": newConformer(d).run} {
				run()
				// The kernels keep scratch in a sync.Pool, which a collection may empty.
				if n := testing.AllocsPerRun(50, run); n > 1 {
					t.Errorf("%s, %v, %d threads: %v allocations in a run of all operations", name, p, threads, n)
				}
			}
		}
	}
}
