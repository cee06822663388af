package server

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"hark/audioprep"
	"hark/engine"
)

// decodeGate bounds what decoding takes of the machine: how many decode at once, clips and recordings apart, and how
// many bytes of decoded audio lie in memory. What has no room there goes to files.
type decodeGate struct {
	clips, recordings chan struct{} // a token for each that decodes

	maxBytes int64 // 0: no limit
	bytes    atomic.Int64
}

func newDecodeGate(maxBytes int64) *decodeGate {
	n := runtime.GOMAXPROCS(0)
	return &decodeGate{
		clips:      make(chan struct{}, n),
		recordings: make(chan struct{}, max(1, n/2)),
		maxBytes:   maxBytes,
	}
}

// Take counts n more bytes of decoded audio in memory, if they fit.
func (g *decodeGate) Take(n int64) bool {
	if g.bytes.Add(n) <= g.maxBytes || g.maxBytes == 0 {
		return true
	}
	g.bytes.Add(-n)
	return false
}

// Give counts them as free again.
func (g *decodeGate) Give(n int64) { g.bytes.Add(-n) }

// worthReturning is how many bytes of a recording are given back to the system at once, when it's answered. A server
// with nothing to do would keep them until the next collection, minutes later; one costs little, since hardly
// anything on the heap holds pointers.
const worthReturning = 256 << 20

// returnMemory does that in the background.
func returnMemory(n int64) {
	if n >= worthReturning {
		go debug.FreeOSMemory()
	}
}

// clipFirst decodes within a limit. At first audio is taken for a clip, which has places of its own to decode in, so
// that clips never queue behind hours of audio; what turns out longer goes the recordings' way. While audio that is
// still arriving has to be waited for, its place is another's.
func (t *Transcriber) clipFirst(ctx context.Context, audio any, decode func(limit time.Duration) error) error {
	limit := t.cfg.MaxDuration
	clipLimit := time.Duration(maxClipSamples) * time.Second / engine.SampleRate
	if limit == 0 || limit > clipLimit {
		err := inPlace(ctx, t.gate.clips, audio, nil, func() error { return decode(clipLimit) })
		if !tooLong(err) {
			return err
		}
	}
	return inPlace(ctx, t.gate.recordings, audio, t.clipsCompute, func() error { return decode(limit) })
}

// clipsCompute returns a channel that is closed when the batch of clips ends that the
// CPU computes now; nil if it computes none.
func (t *Transcriber) clipsCompute() (ended <-chan struct{}) {
	if !t.onCPU.Load() {
		return nil // decoding takes nothing from the device
	}
	return t.device.ClipsRun()
}

// decodePlace is one of the places in which audio is decoded, for one goroutine.
type decodePlace struct {
	all   chan struct{}
	held  bool
	first func() (ended <-chan struct{}) // what goes before this work; nil: nothing
	since time.Time                      // when the work last went on
}

// Decoding a recording gives way to a batch of clips on the same cores for up to so many times as long as it has just
// worked, so that clips do not pay for it; it still gets on if there are nothing but clips.
const (
	givesWayAfter = 2 * time.Millisecond // of work, which is not worth a pause before
	givesWayTimes = 4
)

// giveWay waits while something else goes first.
func (p *decodePlace) giveWay(ctx context.Context) {
	if p.first == nil {
		return
	}
	now := time.Now()
	ended := p.first()
	if ended == nil {
		p.since = now
		return
	}
	worked := now.Sub(p.since)
	if worked < givesWayAfter {
		return
	}
	pause := time.NewTimer(givesWayTimes * worked)
	defer pause.Stop()
	select {
	case <-ended:
	case <-pause.C:
	case <-ctx.Done():
	}
	p.since = time.Now()
}

// goOn takes a place, now or when one is free.
func (p *decodePlace) goOn(ctx context.Context) error {
	select {
	case p.all <- struct{}{}:
		p.held, p.since = true, time.Now()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait lets another one have it.
func (p *decodePlace) wait() {
	if p.held {
		p.held = false
		<-p.all
	}
}

// inPlace does work once one of the places is free. Reading audio, it gives way to what goes first.
func inPlace(ctx context.Context, places chan struct{}, audio any, first func() (ended <-chan struct{}),
	work func() error) error {
	p := &decodePlace{all: places, first: first}
	if err := p.goOn(ctx); err != nil {
		return err
	}
	defer p.wait()
	if r, ok := audio.(*spoolReader); ok {
		r.idle = p
		defer func() { r.idle = nil }()
	}
	return work()
}

// tooLong reports whether decoding ended at its limit.
func tooLong(err error) bool {
	var limit *audioprep.LimitError
	return errors.As(err, &limit)
}
