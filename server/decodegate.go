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

// decodeGate bounds what decoding takes of the machine: how many decode at once, clips and recordings apart, and how many
// bytes of decoded audio lie in memory. What has no room there goes to files.
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
		err := inPlace(ctx, t.gate.clips, audio, func() error { return decode(clipLimit) })
		if !tooLong(err) {
			return err
		}
	}
	return inPlace(ctx, t.gate.recordings, audio, func() error { return decode(limit) })
}

// decodePlace is one of the places in which audio is decoded, for one goroutine.
type decodePlace struct {
	all  chan struct{}
	held bool
}

// goOn takes a place, now or when one is free.
func (p *decodePlace) goOn(ctx context.Context) error {
	select {
	case p.all <- struct{}{}:
		p.held = true
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

// inPlace does work once one of the places is free.
func inPlace(ctx context.Context, places chan struct{}, audio any, work func() error) error {
	p := &decodePlace{all: places}
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
