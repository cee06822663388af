package batcher

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

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
				before := goDo(t.Context(), b, clip("before"))
				bad := goDo(t.Context(), b, clip(tt.window, "other window"))
				after := goDo(t.Context(), b, clip("after"))
				time.Sleep(batchTime / 2)
				later := goDo(t.Context(), b, clip("later"))
				if err := bad.wait().err; !tt.bad(err) {
					t.Errorf("bad clip: %v", err)
				}
				for name, o := range map[string]*outcome{"before": before, "after": after} {
					if err := o.wait().err; !tt.neighbour(err) {
						t.Errorf("%s: %v", name, err)
					}
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
		b := New(whole{&fakeRunner{}}, Config{})
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
