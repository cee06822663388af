package server

import "sync"

// teller calls functions one after another on a goroutine of its own, so that whoever
// is slow to listen holds up nobody.
type teller struct {
	mu    sync.Mutex
	calls []func()
	wake  chan struct{} // has room for one
	quit  chan struct{}
	done  chan struct{}
}

func newTeller() *teller {
	t := &teller{wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go t.run()
	return t
}

// tell has a function called after those before it.
func (t *teller) tell(call func()) {
	t.mu.Lock()
	t.calls = append(t.calls, call)
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// end returns when all have been called. Nothing is to be told any more.
func (t *teller) end() {
	close(t.quit)
	<-t.done
}

func (t *teller) run() {
	defer close(t.done)
	for {
		select {
		case <-t.wake:
			t.callAll()
		case <-t.quit:
			t.callAll()
			return
		}
	}
}

func (t *teller) callAll() {
	t.mu.Lock()
	calls := t.calls
	t.calls = nil
	t.mu.Unlock()
	for _, call := range calls {
		call()
	}
}
