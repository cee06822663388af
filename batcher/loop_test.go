package batcher

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// batchTime is how long fakeRunner takes for a batch, in the virtual time of a synctest bubble.
const batchTime = 100 * time.Millisecond

// fakeRunner records its batches. A window is a string that names its request and says how it ends.
type fakeRunner struct {
	mu      sync.Mutex
	batches [][]string
	ended   int // batches cut short by their context
	ctxs    []context.Context
}

func (r *fakeRunner) Run(ctx context.Context, batch []string) []error {
	r.mu.Lock()
	r.batches = append(r.batches, batch)
	r.ctxs = append(r.ctxs, ctx)
	r.mu.Unlock()
	select {
	case <-time.After(batchTime):
	case <-ctx.Done():
		r.mu.Lock()
		r.ended++
		r.mu.Unlock()
		return allFailed(len(batch), ctx.Err())
	}
	var errs []error
	for i, w := range batch {
		switch {
		case strings.HasPrefix(w, "panic"):
			panic(errBroken)
		case strings.HasPrefix(w, "exit"):
			runtime.Goexit()
		case strings.HasPrefix(w, "short"):
			return make([]error, len(batch)+1)
		case strings.HasPrefix(w, "fatal"):
			return allFailed(len(batch), fmt.Errorf("fake: %w", ErrFatal))
		case strings.HasPrefix(w, "all"):
			return allFailed(len(batch), errBroken)
		case strings.HasPrefix(w, "bad"):
			if errs == nil {
				errs = make([]error, len(batch))
			}
			errs[i] = errBroken
		}
	}
	return errs
}

func (r *fakeRunner) count() int { r.mu.Lock(); defer r.mu.Unlock(); return len(r.batches) }

var errBroken = errors.New("fake: broken")

// script is a Work: step by step, the windows that can run together.
type script [][]string

func (s *script) Next(max int) []string {
	if len(*s) == 0 {
		return nil
	}
	step := (*s)[0]
	if len(step) > max {
		(*s)[0] = step[max:]
		return step[:max]
	}
	*s = (*s)[1:]
	return step
}

func clip(windows ...string) Request[string] {
	return Request[string]{Lane: Clips, CostMillis: 5000, Work: &script{windows}}
}

func recording(steps ...[]string) Request[string] {
	s := script(steps)
	return Request[string]{Lane: Recordings, CostMillis: 60_000, Work: &s}
}

// counter is an Observer that keeps everything.
type counter struct {
	mu       sync.Mutex
	requests []RequestEvent
	batches  []BatchEvent
	turns    []TurnEvent
}

func (c *counter) RequestDone(e RequestEvent) {
	c.mu.Lock()
	c.requests = append(c.requests, e)
	c.mu.Unlock()
}
func (c *counter) BatchDone(e BatchEvent) {
	c.mu.Lock()
	c.batches = append(c.batches, e)
	c.mu.Unlock()
}
func (c *counter) TurnDone(e TurnEvent) { c.mu.Lock(); c.turns = append(c.turns, e); c.mu.Unlock() }

// inBubble runs f with a fresh batcher in virtual time and checks afterwards that Close leaves nothing behind. That
// no goroutine is left either is synctest's own check.
func inBubble(t *testing.T, c Config, f func(t *testing.T, b *Batcher[string], r *fakeRunner)) {
	synctest.Test(t, func(t *testing.T) {
		r := &fakeRunner{}
		b := New(whole{r}, c)
		f(t, b, r)
		if err := b.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if len(b.calls) != 0 || b.former.Waiting(Clips) != 0 || b.former.Waiting(Recordings) != 0 || b.former.InTurn() {
			t.Errorf("left behind: %d calls, %d clips, %d recordings, turn %v", len(b.calls),
				b.former.Waiting(Clips), b.former.Waiting(Recordings), b.former.InTurn())
		}
		if n := itemsIn(b.former); n != 0 {
			t.Errorf("%d items left in the former", n)
		}
		for i, ctx := range r.ctxs {
			if ctx.Err() == nil {
				t.Errorf("the context of batch %d never ended", i)
			}
		}
	})
}

// itemsIn counts what a former holds on to, wherever.
func itemsIn[W any](f *Former[W]) int {
	n := f.clips.n + f.clips.owed + f.clips.owing.n + len(f.clips.active) + f.clips.coming.n +
		f.recordings.n + f.recordings.held.n + len(f.recordings.active) + f.cur.items.n + int(f.clips.cost+f.recordings.cost)
	for _, c := range f.clips.byKey {
		n += c.len() + len(c.cheap)
	}
	for _, c := range f.recordings.byKey {
		n += c.len()
	}
	if f.ahead != nil {
		n += 1 + f.ahead.items.n
	}
	return n
}

func allFailed(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// outcome is what a Do in the background came to; read it after wait.
type outcome struct {
	stats Stats
	err   error
	done  chan struct{}
}

func (o *outcome) wait() *outcome { <-o.done; return o }

// goDo starts a Do and returns once it has been admitted or refused.
func goDo(ctx context.Context, b *Batcher[string], req Request[string]) *outcome {
	o := &outcome{done: make(chan struct{})}
	go func() {
		o.stats, o.err = b.Do(ctx, req)
		close(o.done)
	}()
	synctest.Wait()
	return o
}

func TestConcurrentClipsShareBatches(t *testing.T) {
	var seen counter
	inBubble(t, Config{CostCapMillis: 720_000, Observer: &seen}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				stats, err := b.Do(t.Context(), clip(fmt.Sprint(i)))
				if err != nil || stats.Batches != 1 || stats.Windows != 1 || stats.Run != batchTime {
					t.Errorf("clip %d: %+v, %v", i, stats, err)
				}
			})
		}
		wg.Wait()
		if len(r.batches) < 6 || len(r.batches) > 7 {
			t.Errorf("64 clips ran in %d batches, want 6 or 7", len(r.batches))
		}
		ran := map[string]int{}
		for _, batch := range r.batches {
			if len(batch) > DefaultMaxBatch {
				t.Errorf("batch of %d", len(batch))
			}
			for _, w := range batch {
				ran[w]++
			}
		}
		if len(ran) != 64 {
			t.Errorf("%d different clips ran, want 64", len(ran))
		}
	})
	windows, requests := 0, 0
	for _, e := range seen.batches {
		windows += e.Windows
		if e.Run != batchTime || e.MaxBatch != DefaultMaxBatch || e.Requests != e.Windows || e.CostMillis != 5000*int64(e.Windows) {
			t.Errorf("batch event %+v", e)
		}
	}
	for _, e := range seen.turns {
		requests += e.Requests
		if e.Lane != Clips || e.Length != time.Duration(e.Batches)*batchTime || e.CostMillis != 5000*int64(e.Requests) {
			t.Errorf("turn event %+v", e)
		}
	}
	if windows != 64 || requests != 64 || len(seen.requests) != 64 {
		t.Errorf("observer saw %d windows, %d requests in turns, %d ends", windows, requests, len(seen.requests))
	}
}

func TestTurnEvents(t *testing.T) {
	var seen counter
	inBubble(t, Config{Policy: Lanes, Depth: 1, MaxBatch: 1, CostCapMillis: 12_000, NoAdapt: true, Observer: &seen}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		all := []*outcome{goDo(t.Context(), b, recording([]string{"r"}, []string{"s"}))}
		for range 3 {
			all = append(all, goDo(t.Context(), b, clip("c")))
		}
		for _, o := range all {
			o.wait()
		}
	})
	want := []TurnEvent{
		{Lane: Recordings, Requests: 1, CostMillis: 60_000, Batches: 2, Length: 2 * batchTime},
		{Lane: Clips, Requests: 2, CostMillis: 10_000, CapMillis: 12_000, Batches: 2, Owed: 1, Length: 2 * batchTime},
		{Lane: Clips, Requests: 1, CostMillis: 5000, CapMillis: 12_000, Batches: 1, Length: batchTime},
	}
	if !slices.Equal(seen.turns, want) {
		t.Errorf("turns\n got %+v\nwant %+v", seen.turns, want)
	}
}

func TestWithoutWindowsThereIsNoBatch(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		if o := goDo(t.Context(), b, clip()).wait(); o.err != nil || o.stats.Batches != 0 {
			t.Errorf("%+v, %v", o.stats, o.err)
		}
		if len(r.batches) != 0 {
			t.Errorf("%d batches", len(r.batches))
		}
	})
}

func TestRefusals(t *testing.T) {
	var seen counter
	inBubble(t, Config{QueueLimit: 2, Observer: &seen}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		for name, req := range map[string]Request[string]{
			"lane":     {Lane: 2, Work: &script{}},
			"negative": {CostMillis: -1, Work: &script{}},
			"huge":     {CostMillis: MaxCostMillis + 1, Work: &script{}},
			"no work":  {},
		} {
			if _, err := b.Do(t.Context(), req); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Do(gone, clip("gone")); !errors.Is(err, context.Canceled) {
			t.Errorf("gone: %v", err)
		}

		runs := goDo(t.Context(), b, recording([]string{"r"}))
		waits := []*outcome{goDo(t.Context(), b, clip("1")), goDo(t.Context(), b, recording([]string{"2"}))}
		if clips, recordings := b.Depth(); clips != 1 || recordings != 1 {
			t.Errorf("depth %d, %d, want 1, 1", clips, recordings)
		}
		if _, err := b.Do(t.Context(), clip("3")); !errors.Is(err, ErrQueueFull) {
			t.Errorf("third: %v", err)
		}
		runs.wait()
		synctest.Wait()
		if o := goDo(t.Context(), b, clip("4")).wait(); o.err != nil {
			t.Errorf("after a place was free: %v", o.err)
		}
		for _, o := range waits {
			o.wait()
		}
	})
	if last := seen.requests[len(seen.requests)-1]; last.Err != nil {
		t.Errorf("last request: %v", last.Err)
	}
	if len(seen.requests) != 10 {
		t.Errorf("observer saw %d requests end, want 10", len(seen.requests))
	}
}
