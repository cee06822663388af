package server

import (
	"errors"
	"net/http"
	"sync"
)

// errEventsGone says that a stream can't go on from where it was left: its first events are not kept any more.
var errEventsGone = errors.New("these events are not kept any more")

// eventLog is the events of one stream, numbered from 1, and their end. One writes and any number read, each at its own
// pace; it holds at most so many bytes, beside the last event, and forgets the oldest first.
type eventLog struct {
	most int

	mu      sync.Mutex
	events  [][]byte
	dropped int // events before these
	bytes   int
	ended   bool
	failure error         // why it ended early; nil if it came to its end
	header  http.Header   // of answers that bring it, as far as it's known
	changed chan struct{} // closed when anything does
}

func newEventLog(most int) *eventLog {
	return &eventLog{most: most, changed: make(chan struct{})}
}

// add appends events.
func (l *eventLog) add(events ...[]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		l.events = append(l.events, e)
		l.bytes += len(e)
	}
	for l.bytes > l.most && len(l.events) > 1 {
		l.drop(1)
	}
	l.tell()
}

// end ends the stream; failure is why that is before its end.
func (l *eventLog) end(failure error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.failure = true, failure
	l.tell()
}

// describe sets headers of answers that bring the stream, where they have not begun.
func (l *eventLog) describe(h http.Header) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.header = h
}

// forget drops events up to a number, which everybody who reads has seen.
func (l *eventLog) forget(number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(min(number-l.dropped, len(l.events)))
}

// drop drops the oldest events. The lock is held.
func (l *eventLog) drop(n int) {
	for ; n > 0; n-- {
		l.bytes -= len(l.events[0])
		l.events[0] = nil
		l.events = l.events[1:]
		l.dropped++
	}
}

// tell wakes those who read. The lock is held.
func (l *eventLog) tell() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// after returns the events behind a number, whether there are no more to come, and what is closed when that changes.
func (l *eventLog) after(number int) (events [][]byte, ended bool, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if number < l.dropped || number > l.dropped+len(l.events) {
		return nil, l.ended, l.changed, errEventsGone
	}
	return l.events[number-l.dropped:], l.ended, l.changed, nil
}

// over reports whether the stream has ended.
func (l *eventLog) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// size is how many bytes are kept.
func (l *eventLog) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// state returns the stream's headers, and why it ended early, if it did.
func (l *eventLog) state() (header http.Header, failure error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.header, l.failure
}
