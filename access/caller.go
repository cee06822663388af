package access

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// leastAudio is how many seconds have to be left for a request to be let in: with less,
// an instant after it was used up would do.
const leastAudio = 1

// Caller is who has a key, and what he has used of his limits. It's safe for concurrent use.
type Caller struct {
	name string

	mu       sync.Mutex
	limits   Limits
	requests bucket
	audio    [2]bucket // seconds a minute, seconds an hour
	underWay int
}

func newCaller(name string, limits Limits) *Caller {
	c := &Caller{name: name}
	c.setLimits(limits)
	return c
}

// setLimits changes the limits; what was used before still counts.
func (c *Caller) setLimits(l Limits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits = l
	c.requests.resize(float64(l.RequestsPerMinute), time.Minute)
	c.audio[0].resize(l.AudioPerMinute.Seconds(), time.Minute)
	c.audio[1].resize(l.AudioPerHour.Seconds(), time.Hour)
}

// Weight is how much of the device the caller gets, beside others.
func (c *Caller) Weight() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limits.Weight == 0 {
		return 1
	}
	return c.limits.Weight
}

// Name is the caller's name.
func (c *Caller) Name() string { return c.name }

// Enter lets a request begin, or says with a *LimitError why it may not, in which case nothing is used up. A
// request that was let in ends with Leave.
func (c *Caller) Enter(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.limits
	if l.Concurrent > 0 && c.underWay >= l.Concurrent {
		return &LimitError{Kind: Concurrent, Limit: fmt.Sprintf("%d requests at once", l.Concurrent)}
	}
	for i, words := range []string{
		fmt.Sprintf("%v of audio a minute", l.AudioPerMinute),
		fmt.Sprintf("%v of audio an hour", l.AudioPerHour),
	} {
		b := &c.audio[i]
		if b.size == 0 {
			continue
		}
		b.settle(now)
		if wait := b.until(leastAudio); wait > 0 {
			return &LimitError{Kind: Audio, Limit: words, Wait: wait}
		}
	}
	if l.RequestsPerMinute > 0 {
		c.requests.settle(now)
		if wait := c.requests.until(1); wait > 0 {
			return &LimitError{Kind: Requests, Wait: wait,
				Limit: fmt.Sprintf("%d requests a minute", l.RequestsPerMinute)}
		}
		c.requests.level--
	}
	c.underWay++
	return nil
}

// Leave ends a request that Enter let in.
func (c *Caller) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.underWay--
}

// Charge takes audio off what the caller may have, on credit if need be.
func (c *Caller) Charge(audio time.Duration, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.audio {
		if b := &c.audio[i]; b.size > 0 {
			b.settle(now)
			b.level -= audio.Seconds()
		}
	}
}

// Standings are what is left of each kind of limit that the caller has; of two for
// audio it's the one of which less is left.
func (c *Caller) Standings(now time.Time) map[Kind]Standing {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[Kind]Standing{}
	if c.limits.RequestsPerMinute > 0 {
		c.requests.settle(now)
		all[Requests] = c.requests.standing()
	}
	var audio []Standing
	for i := range c.audio {
		if b := &c.audio[i]; b.size > 0 {
			b.settle(now)
			audio = append(audio, b.standing())
		}
	}
	if len(audio) > 0 {
		all[Audio] = slices.MinFunc(audio, tighter)
	}
	return all
}
