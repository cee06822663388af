package batcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stepper is a Runner that takes one window after the other and asks for more whenever one has ended. A window takes
// a second; its name says how it ends.
type stepper struct {
	mu      sync.Mutex
	batches []string // in each the windows in the order in which they ran, those that joined after a +
	places  int
	ended   int            // batches cut short
	long    map[string]int // how often a window that leaves before its end has run
}

func (s *stepper) Run(ctx context.Context, batch []string, more func(int) []string, done func(string, error)) {
	var log []string
	note := func() {
		s.mu.Lock()
		s.batches = append(s.batches, strings.Join(log, " "))
		s.mu.Unlock()
	}
	defer note()
	queue := slices.Clone(batch)
	joined := map[string]bool{}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			s.mu.Lock()
			s.ended++
			s.mu.Unlock()
			return
		}
		if joined[w] {
			log = append(log, "+"+w)
		} else {
			log = append(log, w)
		}
		switch {
		case strings.HasPrefix(w, "panic"):
			panic(errBroken)
		case strings.HasPrefix(w, "silent"):
			continue
		case strings.HasPrefix(w, "twice"):
			done(w, nil)
			done(w, errBroken)
			done("unknown", errBroken)
		case strings.HasPrefix(w, "bad"):
			done(w, errBroken)
		case strings.HasPrefix(w, "long") && s.long[w] < 3:
			s.long[w]++
			done(w, fmt.Errorf("fake: %w", ErrUnfinished))
		case strings.HasPrefix(w, "fatal"):
			done(w, fmt.Errorf("fake: %w", ErrFatal))
		default:
			done(w, nil)
		}
		for _, w := range more(s.places - len(queue)) {
			joined[w] = true
			queue = append(queue, w)
		}
	}
}

// log returns the batches that have ended.
func (s *stepper) log() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.batches, ", ")
}

// inStepBubble is inBubble for a stepper.
func inStepBubble(t *testing.T, c Config, f func(t *testing.T, b *Batcher[string], s *stepper)) {
	synctest.Test(t, func(t *testing.T) {
		c = c.withDefaults()
		s := &stepper{places: c.MaxBatch, long: map[string]int{}}
		b := New(s, c)
		f(t, b, s)
		if err := b.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if n := len(b.calls) + itemsIn(b.former) + int(b.bytes) + len(b.finished); n != 0 {
			t.Errorf("%d things are left behind", n)
		}
	})
}

func TestAWindowThatEndsIsAnsweredAtOnce(t *testing.T) {
	inStepBubble(t, Config{}, func(t *testing.T, b *Batcher[string], s *stepper) {
		start := time.Now()
		first, second := goDo(t.Context(), b, clip("1")), goDo(t.Context(), b, clip("2"))
		if o := first.wait(); o.err != nil || o.stats.Run != time.Second {
			t.Errorf("first: %+v, %v", o.stats, o.err)
		}
		if got, want := time.Since(start), DefaultBatchWait+time.Second; got != want {
			t.Errorf("first answered after %v, want %v", got, want)
		}
		if o := second.wait(); o.err != nil || o.stats.Run != 2*time.Second || o.stats.Queue != DefaultBatchWait {
			t.Errorf("second: %+v, %v", o.stats, o.err)
		}
	})
}

func TestPlacesThatAreFreeAreFilled(t *testing.T) {
	var seen counter
	inStepBubble(t, Config{RecordingsShare: 0.8, MaxBatch: 2, CostCapMillis: 720_000, Observer: &seen}, func(t *testing.T, b *Batcher[string], s *stepper) {
		warm := goDo(t.Context(), b, recording([]string{"w1", "w2"}))
		warm.wait()
		all := []*outcome{
			goDo(t.Context(), b, clip("a", "b")),
			goDo(t.Context(), b, recording([]string{"1", "2", "3", "4", "5", "6", "7"})),
			goDo(t.Context(), b, clip("c", "d")),
		}
		for i, o := range all {
			if o.wait().err != nil {
				t.Errorf("request %d: %v", i, o.err)
			}
		}
		// A clip turn of 2 s gives recordings 8 s.
		if got, want := s.log(), "w1 w2, a b, 1 2 +3 +4 +5 +6 +7, c d"; got != want {
			t.Errorf("batches %s, want %s", got, want)
		}
		if st := all[1].stats; st.Windows != 7 || st.Batches != 1 {
			t.Errorf("stats of the recording: %+v", st)
		}
	})
	added := 0
	for _, e := range seen.batches {
		added += e.Added
	}
	if added != 5 {
		t.Errorf("the observer saw %d windows join, want 5", added)
	}
}

func TestAChainKeepsItsPlace(t *testing.T) {
	inStepBubble(t, Config{}, func(t *testing.T, b *Batcher[string], s *stepper) {
		o := goDo(t.Context(), b, Request[string]{Work: &script{{"1"}, {"2"}, {"3"}}})
		if o.wait().err != nil || o.stats.Batches != 1 || o.stats.Windows != 3 {
			t.Errorf("%+v, %v", o.stats, o.err)
		}
		if got := s.log(); got != "1 +2 +3" {
			t.Errorf("batches %s", got)
		}
	})
}

// TestAWindowThatTakesLongIsNoTurn: one that leaves before its end goes on in later batches, and others have their turns
// between.
func TestAWindowThatTakesLongIsNoTurn(t *testing.T) {
	for _, c := range []struct {
		policy Policy
		want   string
	}{
		{Windowed, "long 2 3 6, 1, long, 4, long, 5, long"},
		{Lanes, "long 2 3 6, long, long, long, 1, 4, 5"},
	} {
		inStepBubble(t, Config{Policy: c.policy, Depth: 1, NoBackfill: true}, func(t *testing.T, b *Batcher[string], s *stepper) {
			r := goDo(t.Context(), b, recording([]string{"long", "2", "3", "6"}))
			synctest.Wait()
			for _, w := range []string{"1", "4", "5"} {
				if _, err := b.Do(t.Context(), clip(w)); err != nil {
					t.Error(err)
				}
			}
			if r.wait().err != nil || r.stats.Windows != 4 || r.stats.Batches != 4 {
				t.Errorf("%v: a recording of 4 windows in 4 batches: %v, %+v", c.policy, r.err, r.stats)
			}
			if got := s.log(); got != c.want {
				t.Errorf("%v: batches %s, want %s", c.policy, got, c.want)
			}
		})
	}
}

// TestWindowsThatTakeLongKeepTheirOrder: several of one request go on in the order in which they left.
func TestWindowsThatTakeLongKeepTheirOrder(t *testing.T) {
	inStepBubble(t, Config{Policy: Lanes, Depth: 1}, func(t *testing.T, b *Batcher[string], s *stepper) {
		if _, err := b.Do(t.Context(), recording([]string{"long1", "2", "long3", "long4"})); err != nil {
			t.Error(err)
		}
		const want = "long1 2 long3 long4, long1 long3 long4, long1 long3 long4, long1 long3 long4"
		if got := s.log(); got != want {
			t.Errorf("batches %s, want %s", got, want)
		}
	})
}

// TestQueueShowsWhoGoesOnLater: as long as its batch runs a request is among those that run, though its window has left.
func TestQueueShowsWhoGoesOnLater(t *testing.T) {
	inStepBubble(t, Config{Depth: 1}, func(t *testing.T, b *Batcher[string], s *stepper) {
		long := goDo(t.Context(), b, clip("long"))
		other := goDo(t.Context(), b, clip("2", "3"))
		time.Sleep(1500 * time.Millisecond) // the long one has left, and what it shares the batch with runs
		if got := len(b.Queue().Running); got != 2 {
			t.Errorf("%d requests run, want 2; waiting %v", got, b.Queue().Lanes)
		}
		for _, o := range []*outcome{long, other} {
			if err := o.wait().err; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestQuantumAllFillsNoPlaces(t *testing.T) {
	inStepBubble(t, Config{Policy: Lanes}, func(t *testing.T, b *Batcher[string], s *stepper) {
		o := goDo(t.Context(), b, Request[string]{Work: &script{{"1"}, {"2"}, {"3"}}})
		if o.wait().err != nil || o.stats.Batches != 3 {
			t.Errorf("%+v, %v", o.stats, o.err)
		}
	})
}

func TestStepErrorsReachTheirOwners(t *testing.T) {
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	isNil := func(err error) bool { return err == nil }
	for _, tt := range []struct {
		window           string
		own, beforehand  func(error) bool // what its request gets, and one whose window ran before it
		afterwards, late func(error) bool // one whose window was to run after it in the batch, and one in a later batch
	}{
		{"bad", is(errBroken), isNil, isNil, isNil},
		{"silent", is(errNoResult), isNil, isNil, isNil},
		{"twice", isNil, isNil, isNil, isNil},
		{"panic", is(errBroken), isNil, is(errBroken), isNil},
		{"fatal", is(ErrFatal), isNil, isNil, is(ErrClosed)},
	} {
		t.Run(tt.window, func(t *testing.T) {
			inStepBubble(t, Config{CostCapMillis: 720_000}, func(t *testing.T, b *Batcher[string], s *stepper) {
				before, own, after := goDo(t.Context(), b, clip("1")), goDo(t.Context(), b, clip(tt.window)), goDo(t.Context(), b, clip("3"))
				time.Sleep(time.Second)
				late := goDo(t.Context(), b, clip("4"))
				for name, c := range map[string]struct {
					o  *outcome
					ok func(error) bool
				}{"its own": {own, tt.own}, "before": {before, tt.beforehand}, "after": {after, tt.afterwards}, "late": {late, tt.late}} {
					if err := c.o.wait().err; !c.ok(err) {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		})
	}
}

func TestABatchOfTheDeadIsCutShort(t *testing.T) {
	inStepBubble(t, Config{CostCapMillis: 720_000}, func(t *testing.T, b *Batcher[string], s *stepper) {
		ctx, hangUp := context.WithCancel(t.Context())
		first := goDo(t.Context(), b, clip("1"))
		second := goDo(ctx, b, clip("2"))
		third := goDo(ctx, b, clip("3"))
		time.Sleep(time.Second / 2)
		hangUp()
		for _, o := range []*outcome{second, third} {
			if !errors.Is(o.wait().err, context.Canceled) {
				t.Error(o.err)
			}
		}
		if o := first.wait(); o.err != nil {
			t.Error(o.err)
		}
		synctest.Wait()
		if s.ended != 1 {
			t.Error("the batch goes on although all who are left in it have hung up")
		}
	})
}

// TestTenThousandCancelledLeaveNothing is for those in the lanes, in a turn, in a batch and in nothing yet.
func TestTenThousandCancelledLeaveNothing(t *testing.T) {
	for _, policy := range []Policy{Windowed, Lanes, CostOrder} {
		t.Run(policy.String(), func(t *testing.T) {
			inStepBubble(t, Config{Policy: policy, QueueLimit: 20_000, CostCapMillis: 100_000}, func(t *testing.T, b *Batcher[string], s *stepper) {
				var wg sync.WaitGroup
				for i := range 10_000 {
					wg.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%100)*100*time.Millisecond)
						defer cancel()
						req := clip(fmt.Sprint(i))
						if i%10 == 0 {
							req = recording([]string{fmt.Sprint(i, "a"), fmt.Sprint(i, "b")}, []string{fmt.Sprint(i, "c")})
						}
						req.Caller, req.Bytes = fmt.Sprint(i%50), 1000
						if i%3 == 0 {
							req.Deadline = time.Duration(1+i%90) * 100 * time.Millisecond
						}
						_, err := b.Do(ctx, req)
						if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrDeadline) && !errors.Is(err, ErrQueueFull) {
							t.Errorf("request %d: %v", i, err)
						}
					})
				}
				wg.Wait()
				synctest.Wait()
				if q := b.Queue(); len(q.Lanes[0])+len(q.Lanes[1])+len(q.Running) != 0 || q.Bytes != 0 {
					t.Errorf("left in the queue: %+v", q)
				}
			})
		})
	}
}

// dropWindow is a window that notes when it is dropped.
type dropWindow struct {
	seconds int
	mu      sync.Mutex
	dropped bool
}

func (w *dropWindow) Drop() { w.mu.Lock(); w.dropped = true; w.mu.Unlock() }

func (w *dropWindow) gone() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.dropped }

// dropRunner steps all windows a second at a time and leaves out those that were dropped.
type dropRunner struct{}

func (dropRunner) Run(ctx context.Context, batch []*dropWindow, _ func(int) []*dropWindow, done func(*dropWindow, error)) {
	for step := 1; len(batch) > 0; step++ {
		time.Sleep(time.Second)
		batch = slices.DeleteFunc(batch, func(w *dropWindow) bool {
			over := w.gone() || w.seconds == step
			if over {
				done(w, nil)
			}
			return over
		})
	}
}

type dropWork []*dropWindow

func (w *dropWork) Next(int) []*dropWindow { next := *w; *w = nil; return next }

func TestWindowsOfWhoHangsUpAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(dropRunner{}, Config{CostCapMillis: 720_000})
		ctx, hangUp := context.WithCancel(t.Context())
		kept, long := &dropWindow{seconds: 3}, &dropWindow{seconds: 100}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.Do(ctx, Request[*dropWindow]{Work: &dropWork{long}}); !errors.Is(err, context.Canceled) {
				t.Errorf("who hung up: %v", err)
			}
		})
		wg.Go(func() {
			if stats, err := b.Do(t.Context(), Request[*dropWindow]{Work: &dropWork{kept}}); err != nil || stats.Run != 3*time.Second {
				t.Errorf("who stayed: %+v, %v", stats, err)
			}
		})
		time.Sleep(1500 * time.Millisecond)
		start := time.Now()
		hangUp()
		wg.Wait()
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := time.Since(start); got > 2*time.Second {
			t.Errorf("the batch goes on for %v", got)
		}
		if !long.gone() || kept.gone() {
			t.Errorf("dropped: %v, %v", long.gone(), kept.gone())
		}
	})
}
