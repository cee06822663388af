package cpu

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tally counts how often each block ran, and whether a worker was ever in two places.
type tally struct {
	times []atomic.Int32
	in    [8]atomic.Int32
	wrong atomic.Bool
	work  time.Duration
}

func (c *tally) block(worker, i int) {
	if c.in[worker].Add(1) != 1 {
		c.wrong.Store(true)
	}
	for start := time.Now(); time.Since(start) < c.work; {
	}
	c.times[i].Add(1)
	c.in[worker].Add(-1)
}

func (c *tally) check(t *testing.T, times int32) {
	t.Helper()
	for i := range c.times {
		if got := c.times[i].Load(); got != times {
			t.Fatalf("block %d of %d ran %d times, want %d", i, len(c.times), got, times)
		}
	}
	if c.wrong.Load() {
		t.Fatal("two goroutines had the same worker number at once")
	}
}

func TestPoolRunsEachBlockOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := newPool(threads)
		for _, work := range []time.Duration{0, 3 * time.Microsecond, 50 * time.Microsecond} {
			for _, n := range []int{0, 1, 2, 3, 17} {
				c := &tally{times: make([]atomic.Int32, n), work: work}
				const rounds = 40
				for range rounds {
					p.run(n, c)
				}
				c.check(t, rounds)
			}
			time.Sleep(2 * spin) // so that the next region finds the workers asleep
		}
		p.close()
	}
}

func TestPoolIsShared(t *testing.T) {
	p := newPool(3)
	defer p.close()
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			for n := range 200 {
				c := &tally{times: make([]atomic.Int32, n%9), work: time.Duration(n%3) * time.Microsecond}
				p.run(n%9, c)
				c.check(t, 1)
			}
		})
	}
	g.Wait()
}

func TestPoolWorksAfterClose(t *testing.T) {
	p := newPool(2)
	p.close()
	p.close()
	c := &tally{times: make([]atomic.Int32, 5)}
	p.run(5, c)
	c.check(t, 1)
}

// nothing is a task without work: what is left is what a region costs.
type nothing struct{}

func (nothing) block(_, _ int) {}

func BenchmarkPoolRegion(b *testing.B) {
	p := newPool(2)
	defer p.close()
	for b.Loop() {
		p.run(2, nothing{})
	}
}
