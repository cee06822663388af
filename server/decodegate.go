package server

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
)

// decodeGate bounds what decoding takes of the machine: how many decode at once, clips and recordings apart, and how many
// bytes of decoded recordings lie in memory. Decoded size is known only afterwards, so memory may exceed the bound
// by what the recordings' places hold, which wait for room with their place kept.
type decodeGate struct {
	clips, recordings chan struct{} // a token for each that decodes

	maxBytes int64
	mu       sync.Mutex
	bytes    int64
	freed    chan struct{} // closed and replaced when bytes falls
}

func newDecodeGate(maxBytes int64) *decodeGate {
	n := runtime.GOMAXPROCS(0)
	return &decodeGate{
		clips:      make(chan struct{}, n),
		recordings: make(chan struct{}, max(1, n/2)),
		maxBytes:   maxBytes,
		freed:      make(chan struct{}),
	}
}

// hold waits until n more bytes fit, or nothing else is held, and counts them until release is called, once.
func (g *decodeGate) hold(ctx context.Context, n int64) (release func(), err error) {
	for {
		g.mu.Lock()
		if g.maxBytes == 0 || g.bytes == 0 || g.bytes+n <= g.maxBytes {
			g.bytes += n
			g.mu.Unlock()
			return func() { g.give(n) }, nil
		}
		freed := g.freed
		g.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (g *decodeGate) give(n int64) {
	g.mu.Lock()
	g.bytes -= n
	close(g.freed)
	g.freed = make(chan struct{})
	g.mu.Unlock()
	if n >= worthReturning {
		go debug.FreeOSMemory()
	}
}

// worthReturning is how many bytes of a recording are given back to the system at once, when it's answered. A server
// with nothing to do would keep them until the next collection, minutes later; one costs little, since hardly
// anything on the heap holds pointers.
const worthReturning = 256 << 20
