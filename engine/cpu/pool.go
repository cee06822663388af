package cpu

import (
	"sync"
	"sync/atomic"
	"time"
)

// task is an operation cut in blocks. Blocks run in any order, several at once, each
// exactly once. worker is below the pool's number of threads and belongs to one
// goroutine while it works on the task, so that a task can keep scratch per worker.
type task interface {
	block(worker, i int)
}

// pool runs tasks on a fixed number of threads: the goroutine that calls run is one of
// them, the others are workers that live as long as the pool.
//
// A task is a region: run publishes it, opens the gate, wakes who sleeps, and takes
// blocks itself from a shared counter; workers that pass the gate take blocks too. When
// the counter is spent the caller shuts the gate and waits for those inside, never for a
// worker that slept through it: at a decoder's size of operations the caller has often
// done everything before another core is awake. Workers look out for the next region
// for a moment before they sleep, because operations come in quick succession.
//
// Only one region is open at a time. A second goroutine that calls run meanwhile does
// its task alone, which can't deadlock, and with several requests under way a core
// for each is the better use of the cores anyway.
type pool struct {
	threads int
	busy    sync.Mutex // held by the caller whose region is open
	closed  bool       // guarded by busy

	task task // of the open region; both are written with the gate shut
	n    int
	todo atomic.Int64 // blocks not yet taken; zero or less when all are

	gate     atomic.Int64 // open and waiting bits, and below them the number of workers inside
	sleeping atomic.Int32
	wake     chan struct{} // a token for each sleeper to wake
	left     chan struct{} // from the last worker to leave, if the caller waits
	workers  sync.WaitGroup
}

const (
	gateOpen    = 1 << 32
	gateWaiting = 1 << 33

	// spin is how long to look out for work, or for the end of it, before sleeping: about
	// what waking a thread costs.
	spin = 20 * time.Microsecond
)

func newPool(threads int) *pool {
	p := &pool{threads: threads, wake: make(chan struct{}, threads), left: make(chan struct{}, 1)}
	for w := 1; w < threads; w++ {
		p.workers.Go(func() { p.serve(w) })
	}
	return p
}

// close ends the workers. Tasks run later are done by their callers alone.
func (p *pool) close() {
	p.busy.Lock()
	defer p.busy.Unlock()
	if !p.closed {
		p.closed = true
		close(p.wake)
		p.workers.Wait()
	}
}

// run does blocks [0, n) of t and returns when all are done.
func (p *pool) run(n int, t task) {
	if n > 1 && p.threads > 1 && p.busy.TryLock() {
		defer p.busy.Unlock()
		if !p.closed {
			p.region(n, t)
			return
		}
	}
	for i := range n {
		t.block(0, i)
	}
}

// region runs t on all threads. The caller holds busy.
func (p *pool) region(n int, t task) {
	p.task, p.n = t, n
	p.todo.Store(int64(n))
	p.gate.Store(gateOpen)
	for range min(int(p.sleeping.Load()), n-1) {
		select {
		case p.wake <- struct{}{}:
		default: // tokens enough are left from regions that were over too soon
		}
	}
	p.take(0)
	p.shut()
	p.task = nil
}

// take does blocks, in ascending order, until none are left.
func (p *pool) take(worker int) {
	for {
		left := int(p.todo.Add(-1))
		if left < 0 {
			return
		}
		p.task.block(worker, p.n-1-left)
	}
}

// shut closes the gate and waits until every worker inside has left.
func (p *pool) shut() {
	if p.gate.Add(-gateOpen) == 0 {
		return
	}
	if spinUntil(func() bool { return p.gate.Load() == 0 }) {
		return
	}
	if p.gate.Add(gateWaiting) != gateWaiting {
		<-p.left
	}
	p.gate.Store(0)
}

// serve is a worker's life.
func (p *pool) serve(worker int) {
	for {
		if p.enter() {
			p.take(worker)
			if p.gate.Add(-1) == gateWaiting {
				p.left <- struct{}{}
			}
		}
		if spinUntil(p.hasWork) {
			continue
		}
		// Whoever opens the gate looks at sleeping afterwards, so one of the two sees the other.
		p.sleeping.Add(1)
		if !p.hasWork() {
			if _, ok := <-p.wake; !ok {
				return
			}
		}
		p.sleeping.Add(-1)
	}
}

func (p *pool) hasWork() bool { return p.gate.Load()&gateOpen != 0 && p.todo.Load() > 0 }

// enter passes the gate if it is open.
func (p *pool) enter() bool {
	for {
		g := p.gate.Load()
		if g&gateOpen == 0 {
			return false
		}
		if p.gate.CompareAndSwap(g, g+1) {
			return true
		}
	}
}

// spinUntil waits for a condition for a moment and reports whether it came.
func spinUntil(cond func() bool) bool {
	for start := time.Now(); ; {
		for range 64 {
			if cond() {
				return true
			}
		}
		if time.Since(start) > spin {
			return false
		}
	}
}
