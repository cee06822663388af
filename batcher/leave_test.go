package batcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

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

func TestBatchOutlivesWhoIsNotInIt(t *testing.T) {
	inBubble(t, Config{Policy: Lanes, MaxBatch: 2}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		stays := goDo(t.Context(), b, Request[string]{Work: &script{{"a"}, {"b", "c"}}})
		ctx, hangUp := context.WithCancel(t.Context())
		goes := goDo(ctx, b, Request[string]{Work: &script{{"x"}, {"y"}}})
		time.Sleep(DefaultBatchWait + batchTime + batchTime/2)
		hangUp() // its first window has run, its second one finds no place in the batch that runs
		goes.wait()
		if err := stays.wait().err; err != nil {
			t.Error(err)
		}
		if got, want := fmt.Sprint(r.batches), "[[a x] [b c]]"; got != want || r.ended != 0 {
			t.Errorf("batches %s, %d cut short, want %s", got, r.ended, want)
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
