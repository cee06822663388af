package batcher

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLoneClipIsHeldForCompany(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		first := goDo(t.Context(), b, clip("first"))
		time.Sleep(DefaultBatchWait - time.Millisecond)
		second := goDo(t.Context(), b, clip("second"))
		if got := first.wait().stats.Queue; got != DefaultBatchWait {
			t.Errorf("first waited %v, want %v", got, DefaultBatchWait)
		}
		if got := second.wait().stats.Queue; got != time.Millisecond {
			t.Errorf("second waited %v, want 1ms", got)
		}
		if len(r.batches) != 1 {
			t.Errorf("%d batches, want 1", len(r.batches))
		}
	})
}

func TestHoldEndsEarly(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config Config
		others []Request[string] // come 1 ms after a lone clip
	}{
		{"full batch", Config{MaxBatch: 3}, []Request[string]{clip("2"), clip("3")}},
		{"full turn", Config{CostCapMillis: 10_000}, []Request[string]{clip("2")}},
		{"recording", Config{}, []Request[string]{recording([]string{"r"})}},
		{"negative wait", Config{BatchWait: -1}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.config, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
				first := goDo(t.Context(), b, clip("1"))
				if tt.config.BatchWait >= 0 {
					time.Sleep(time.Millisecond)
				}
				var others []*outcome
				for _, req := range tt.others {
					others = append(others, goDo(t.Context(), b, req))
				}
				if got := r.count(); got != 1 {
					t.Errorf("%d batches have begun, want 1", got)
				}
				first.wait()
				for _, o := range others {
					o.wait()
				}
			})
		})
	}
}

func TestLoneClipLeftByATurnIsHeldToo(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		rec := goDo(t.Context(), b, recording([]string{"r"}))
		time.Sleep(batchTime - 4*time.Millisecond)
		first := goDo(t.Context(), b, clip("1"))
		rec.wait()
		if got := first.wait().stats; got.Queue != DefaultBatchWait || got.TurnsWaited != 1 {
			t.Errorf("clip waited %v and %d turns, want %v and 1", got.Queue, got.TurnsWaited, DefaultBatchWait)
		}
	})
}

func TestClipsInCompanyAreNotHeld(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		rec := goDo(t.Context(), b, recording([]string{"r"}))
		time.Sleep(batchTime - 4*time.Millisecond)
		first, second := goDo(t.Context(), b, clip("1")), goDo(t.Context(), b, clip("2"))
		rec.wait()
		for _, o := range []*outcome{first, second} {
			if got := o.wait().stats.Queue; got != 4*time.Millisecond {
				t.Errorf("clip waited %v, want 4ms", got)
			}
		}
	})
}

func TestClockDrivesTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &manualClock{}
		b := New(whole{runnerFunc(func(context.Context, []string) []error { return nil })}, Config{Clock: clock})
		lone := goDo(t.Context(), b, clip("1"))
		time.Sleep(time.Hour) // of a clock that isn't the batcher's
		if clips, _ := b.Depth(); clips != 1 {
			t.Fatal("the clip isn't held")
		}
		clock.advance(DefaultBatchWait)
		if stats := lone.wait().stats; stats.Queue != DefaultBatchWait || stats.Run != 0 {
			t.Errorf("stats %+v", stats)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// manualClock goes on only when told to, and then fires every timer there is.
type manualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []chan time.Time
}

func (c *manualClock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for _, fired := range c.timers {
		fired <- c.now
	}
	c.timers = nil
}

func (c *manualClock) NewTimer(time.Duration) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fired := make(chan time.Time, 1)
	c.timers = append(c.timers, fired)
	return fired, func() {}
}

type runnerFunc func(context.Context, []string) []error

func (f runnerFunc) Run(ctx context.Context, batch []string) []error { return f(ctx, batch) }

func TestCloseDoesNotHold(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		lone := goDo(t.Context(), b, clip("lone"))
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if o := lone.wait(); o.err != nil || o.stats.Queue != 0 {
			t.Errorf("%+v, %v", o.stats, o.err)
		}
	})
}
