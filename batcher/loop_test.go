package batcher

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
}

func (r *fakeRunner) Run(ctx context.Context, batch []string) []error {
	r.mu.Lock()
	r.batches = append(r.batches, batch)
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

// inBubble runs f with a fresh batcher in virtual time and checks afterwards that Close leaves nothing behind. That no goroutine
// is left either is synctest's own check.
func inBubble(t *testing.T, c Config, f func(t *testing.T, b *Batcher[string], r *fakeRunner)) {
	synctest.Test(t, func(t *testing.T) {
		r := &fakeRunner{}
		b := New(r, c)
		f(t, b, r)
		if err := b.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if len(b.calls) != 0 || b.former.Waiting(Clips) != 0 || b.former.Waiting(Recordings) != 0 || b.former.InTurn() {
			t.Errorf("left behind: %d calls, %d clips, %d recordings, turn %v", len(b.calls),
				b.former.Waiting(Clips), b.former.Waiting(Recordings), b.former.InTurn())
		}
		if b.former.clips.len() != 0 || len(b.former.clips.cheap) != 0 || b.former.recordings.n != 0 || b.former.turn.n != 0 {
			t.Error("items left in the former")
		}
	})
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
	inBubble(t, Config{Observer: &seen}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
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

func TestClockDrivesTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &manualClock{}
		b := New(runnerFunc(func(context.Context, []string) []error { return nil }), Config{Clock: clock})
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

func TestFailureReachesItsWaitersOnly(t *testing.T) {
	isBroken := func(err error) bool { return errors.Is(err, errBroken) }
	isPanic := func(err error) bool {
		var p *PanicError
		return errors.As(err, &p) && len(p.Stack) > 0 && isBroken(err)
	}
	isNil := func(err error) bool { return err == nil }
	isAny := func(err error) bool { return err != nil }
	for _, tt := range []struct {
		window    string
		bad       func(error) bool // what the clip with this window gets
		neighbour func(error) bool // another in the same batch
	}{
		{"bad", isBroken, isNil},
		{"all", isBroken, isBroken},
		{"panic", isPanic, isPanic},
		{"short", isAny, isAny},
	} {
		t.Run(tt.window, func(t *testing.T) {
			inBubble(t, Config{}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
				bad := goDo(t.Context(), b, clip(tt.window, "other window"))
				neighbour := goDo(t.Context(), b, clip("neighbour"))
				time.Sleep(batchTime / 2)
				later := goDo(t.Context(), b, clip("later"))
				if err := bad.wait().err; !tt.bad(err) {
					t.Errorf("bad clip: %v", err)
				}
				if err := neighbour.wait().err; !tt.neighbour(err) {
					t.Errorf("neighbour: %v", err)
				}
				if err := later.wait().err; err != nil {
					t.Errorf("later: %v", err)
				}
				if len(r.batches) != 2 {
					t.Errorf("%d batches, want 2", len(r.batches))
				}
			})
		})
	}
}

func TestFailureTakesTheRestOfTheRequestOff(t *testing.T) {
	inBubble(t, Config{MaxBatch: 2}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		rec := goDo(t.Context(), b, recording([]string{"1", "bad", "3", "4"}))
		if err := rec.wait().err; !errors.Is(err, errBroken) {
			t.Error(err)
		}
		if stats := rec.stats; stats.Windows != 2 || stats.Batches != 1 || len(r.batches) != 1 {
			t.Errorf("stats %+v, %d batches", stats, len(r.batches))
		}
	})
}

func TestFatalStopsAndLaterCallersLearnWhy(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		bad := goDo(t.Context(), b, clip("fatal"))
		time.Sleep(batchTime / 2)
		waits := goDo(t.Context(), b, clip("waits"))
		if err := bad.wait().err; !errors.Is(err, ErrFatal) {
			t.Errorf("its own: %v", err)
		}
		for name, o := range map[string]*outcome{"waiting": waits, "later": goDo(t.Context(), b, clip("later"))} {
			if err := o.wait().err; !errors.Is(err, ErrFatal) || !errors.Is(err, ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(r.batches) != 1 {
			t.Errorf("%d batches, want 1", len(r.batches))
		}
	})
}

func TestRunnerThatEndsTheGoroutineLeavesNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(&fakeRunner{}, Config{})
		exits := goDo(t.Context(), b, clip("exit"))
		waits := goDo(t.Context(), b, recording([]string{"r"}))
		for _, o := range []*outcome{exits, waits, goDo(t.Context(), b, clip("later"))} {
			if err := o.wait().err; !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestBrokenWork(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		panics := goDo(t.Context(), b, Request[string]{Work: workFunc(func(int) []string { panic(errBroken) })})
		tooMany := goDo(t.Context(), b, Request[string]{Work: workFunc(func(max int) []string { return make([]string, max+1) })})
		good := goDo(t.Context(), b, clip("good"))
		var p *PanicError
		if err := panics.wait().err; !errors.As(err, &p) || !errors.Is(err, errBroken) {
			t.Errorf("panics: %v", err)
		}
		if err := tooMany.wait().err; err == nil {
			t.Error("more windows than asked for: no error")
		}
		if err := good.wait().err; err != nil {
			t.Error(err)
		}
	})
}

type workFunc func(max int) []string

func (f workFunc) Next(max int) []string { return f(max) }

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

func TestHangUpLeavesTheLaneAndTheNextBatch(t *testing.T) {
	inBubble(t, Config{MaxBatch: 2}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		rec := goDo(t.Context(), b, recording([]string{"r"}))
		ctx, hangUp := context.WithCancel(t.Context())
		inLane := goDo(ctx, b, clip("in lane"))
		chain := goDo(t.Context(), b, Request[string]{Work: &script{{"1"}, {"2"}}})
		hangUp()
		if o := inLane.wait(); !errors.Is(o.err, context.Canceled) || o.stats.Queue != 0 {
			t.Errorf("in lane: %+v, %v", o.stats, o.err)
		}
		ctx, hangUp = context.WithCancel(t.Context())
		twoSteps := goDo(ctx, b, Request[string]{Work: &script{{"one"}, {"two"}}})
		rec.wait()
		time.Sleep(batchTime / 2)
		hangUp()
		twoSteps.wait()
		if o := chain.wait(); o.err != nil || o.stats.Windows != 2 {
			t.Errorf("chain: %+v, %v", o.stats, o.err)
		}
		if got, want := fmt.Sprint(r.batches), "[[r] [1 one] [2]]"; got != want {
			t.Errorf("batches %s, want %s", got, want)
		}
		if r.ended != 0 {
			t.Error("a batch with a live waiter was cut short")
		}
	})
}

func TestBatchEndsWhenAllHaveHungUp(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		ctx, hangUp := context.WithCancel(t.Context())
		goDo(ctx, b, clip("1"))
		goDo(ctx, b, clip("2"))
		time.Sleep(DefaultBatchWait + batchTime/2)
		start := time.Now()
		later := goDo(t.Context(), b, clip("later"))
		hangUp()
		later.wait()
		if r.ended != 1 {
			t.Errorf("%d batches cut short, want 1", r.ended)
		}
		if got, want := time.Since(start), DefaultBatchWait+batchTime; got != want {
			t.Errorf("later took %v, want %v", got, want)
		}
	})
}

func TestCloseDrains(t *testing.T) {
	inBubble(t, Config{MaxBatch: 2}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		var all []*outcome
		all = append(all, goDo(t.Context(), b, recording([]string{"a", "b", "c"}, []string{"d"})))
		for i := range 5 {
			all = append(all, goDo(t.Context(), b, clip(fmt.Sprint(i))))
		}
		closed := make(chan error)
		go func() { closed <- b.Close(t.Context()) }()
		synctest.Wait()
		if _, err := b.Do(t.Context(), clip("late")); !errors.Is(err, ErrClosed) {
			t.Errorf("late: %v", err)
		}
		if err := <-closed; err != nil {
			t.Errorf("Close: %v", err)
		}
		for i, o := range all {
			if o.wait().err != nil {
				t.Errorf("request %d: %v", i, o.err)
			}
		}
	})
}

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

func TestCloseStopsHardWhenItsContextEnds(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		runs := goDo(t.Context(), b, recording([]string{"r"}))
		waits := goDo(t.Context(), b, clip("waits"))
		ctx, cancel := context.WithTimeout(t.Context(), batchTime/2)
		defer cancel()
		if err := b.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		for name, o := range map[string]*outcome{"running": runs, "waiting": waits} {
			if !errors.Is(o.wait().err, ErrClosed) {
				t.Errorf("%s: %v", name, o.err)
			}
		}
		if r.ended != 1 {
			t.Error("the batch that ran was not told to end")
		}
	})
}

func TestThousandCancelledLeaveNothing(t *testing.T) {
	inBubble(t, Config{QueueLimit: 1000}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		ctx, cancel := context.WithTimeout(t.Context(), 7*batchTime)
		defer cancel()
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				req := clip(fmt.Sprint(i))
				if i%10 == 0 {
					req = recording([]string{"a"}, []string{"b"}, []string{"c"})
				}
				if _, err := b.Do(ctx, req); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("request %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		b.mu.Lock()
		left := len(b.calls)
		b.mu.Unlock()
		if clips, recordings := b.Depth(); clips+recordings+left != 0 {
			t.Errorf("%d clips, %d recordings, %d calls left", clips, recordings, left)
		}
	})
}
