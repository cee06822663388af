package batcher

import "time"

// admit lets a request in (rule 16), or says with a *BusyError why not.
func (b *Batcher[W]) admit(req Request[W]) (*call[W], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.cause != nil:
		return nil, b.cause
	case b.closing:
		return nil, ErrClosed
	}
	now := b.clock.Now()
	if err := b.refusal(&req); err != nil {
		return nil, err
	}
	c := &call[W]{item: Item[W]{Request: req}, arrived: now, done: make(chan struct{})}
	b.calls[&c.item] = c
	b.bytes += req.Bytes
	b.former.Add(&c.item, now)
	b.signal()
	return c, nil
}

// refusal returns why a request can't be admitted now, or nil. The lock is held.
func (b *Batcher[W]) refusal(req *Request[W]) error {
	waiting := b.former.Waiting(Clips) + b.former.Waiting(Recordings)
	predicted := b.stretch(b.former.Predict(req, b.clock.Now()))
	busy := &BusyError{Predicted: predicted, Waiting: waiting}
	switch c := &b.config; {
	case waiting >= c.QueueLimit:
		busy.Limit = LimitCount
	case c.QueueBytes > 0 && b.bytes > 0 && b.bytes+req.Bytes > c.QueueBytes:
		busy.Limit = LimitBytes
	case c.QueueWait > 0 && predicted > c.QueueWait:
		busy.Limit = LimitWait
	case req.Deadline > 0 && predicted > req.Deadline:
		busy.Limit = LimitDeadline
	default:
		return nil
	}
	return busy
}

// Check says whether a request like req would be admitted now, so that a server can refuse it before it reads a
// file: nil, or what Do would return. Its Work is not looked at.
func (b *Batcher[W]) Check(req Request[W]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.cause != nil:
		return b.cause
	case b.closing:
		return ErrClosed
	}
	return b.refusal(&req)
}

// SetBudget says that the model reports another budget, in ms of audio (rule 6). Nobody loses his place.
func (b *Batcher[W]) SetBudget(millis int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.former.SetBudget(millis)
	b.signal()
}

// stretch is how long something takes that would take d if no other model wanted the device: each that waits for it has
// an equal part.
func (b *Batcher[W]) stretch(d time.Duration) time.Duration {
	return d * time.Duration(1+b.device.rivals(&b.tenant))
}
