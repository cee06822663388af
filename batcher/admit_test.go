package batcher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// limitOf returns the limit that an error names, or "".
func limitOf(err error) Limit {
	var busy *BusyError
	if !errors.As(err, &busy) || !errors.Is(err, ErrQueueFull) {
		return ""
	}
	return busy.Limit
}

func TestRule16Limits(t *testing.T) {
	inBubble(t, Config{QueueLimit: 3, QueueBytes: 100, QueueWait: time.Minute}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		first := clip("1")
		first.Bytes = 1000 // alone it may hold more
		big := goDo(t.Context(), b, first)
		more := clip("2")
		more.Bytes = 1
		if _, err := b.Do(t.Context(), more); limitOf(err) != LimitBytes {
			t.Errorf("bytes: %v", err)
		}
		big.wait()
		synctest.Wait()
		if _, err := b.Do(t.Context(), more); err != nil {
			t.Errorf("bytes given back: %v", err)
		}
		runs := goDo(t.Context(), b, recording([]string{"r"}))
		var waits []*outcome
		for i := range 3 {
			waits = append(waits, goDo(t.Context(), b, clip(fmt.Sprint("w", i))))
		}
		if _, err := b.Do(t.Context(), clip("3")); limitOf(err) != LimitCount {
			t.Errorf("count: %v", err)
		}
		runs.wait()
		for _, o := range waits {
			o.wait()
		}
	})
}

func TestRule16WhoWouldWaitTooLongIsToldHowLong(t *testing.T) {
	inBubble(t, Config{MaxBatch: 1, NoBackfill: true, QueueWait: 30 * batchTime}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		hurried := clip("hurried")
		hurried.Deadline = batchTime / 2
		if _, err := b.Do(t.Context(), hurried); !errors.Is(err, ErrDeadline) {
			t.Errorf("while nothing has been measured: %v", err) // it gets its try
		}
		time.Sleep(10 * batchTime)
		if o := goDo(t.Context(), b, clip("warm")).wait(); o.err != nil {
			t.Fatal(o.err)
		}
		_, err := b.Do(t.Context(), hurried)
		var busy *BusyError
		if limitOf(err) != LimitDeadline || !errors.As(err, &busy) || busy.Predicted != batchTime {
			t.Errorf("deadline: %v", err)
		}
		if err != nil && !strings.Contains(err.Error(), busy.Predicted.String()) {
			t.Errorf("%q does not tell the predicted wait", err)
		}
		if err := b.Check(hurried); limitOf(err) != LimitDeadline {
			t.Errorf("Check: %v", err)
		}
		patient := clip("patient")
		patient.Deadline = 2 * batchTime
		if err := b.Check(patient); err != nil {
			t.Errorf("Check of a patient one: %v", err)
		}

		var waits []*outcome
		refused := 0
		for i := range 40 {
			if err := b.Check(clip("x")); err != nil {
				refused++
				if limitOf(err) != LimitWait {
					t.Fatalf("wait: %v", err)
				}
				continue
			}
			waits = append(waits, goDo(t.Context(), b, clip(fmt.Sprint(i))))
		}
		if refused == 0 || refused > 12 {
			t.Errorf("%d of 40 were refused, want about 10", refused)
		}
		for _, o := range waits {
			o.wait()
		}
	})
}

func TestRule16APredictionComesTrue(t *testing.T) {
	inBubble(t, Config{MaxBatch: 4, CostCapMillis: 720_000, NoBackfill: true}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		// Something of each kind has been measured.
		for range 3 {
			warm := goDo(t.Context(), b, recording([]string{"r1", "r2", "r3", "r4"}))
			goDo(t.Context(), b, clip("c1", "c2", "c3", "c4")).wait()
			warm.wait()
		}
		var all []*outcome
		var predicted []time.Duration
		for i := range 40 {
			req := clip(fmt.Sprint(i))
			if i%8 == 0 {
				req = recording([]string{"a", "b"})
			}
			b.mu.Lock()
			predicted = append(predicted, b.former.Predict(&req, time.Now()))
			b.mu.Unlock()
			all = append(all, goDo(t.Context(), b, req))
		}
		for i, o := range all {
			o.wait()
			took := o.stats.Queue + o.stats.Run
			if off := (predicted[i] - took).Abs(); off > 8*batchTime {
				t.Errorf("request %d took %v, predicted %v", i, took, predicted[i])
			}
		}
	})
}

// TestALoneRequestIsPredictedAlone: with nothing waiting, a clip or a short recording is not taken for a full batch of
// them, so that a deadline that can be met is let in.
func TestALoneRequestIsPredictedAlone(t *testing.T) {
	inBubble(t, Config{MaxBatch: 4, NoBackfill: true}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		goDo(t.Context(), b, clip("c")).wait()
		goDo(t.Context(), b, recording([]string{"r"})).wait()
		late := clip("d")
		late.Deadline = 2 * batchTime
		if o := goDo(t.Context(), b, late).wait(); o.err != nil {
			t.Errorf("a clip with twice the time it takes: %v", o.err)
		}
		short := recording([]string{"s"})
		short.CostMillis, short.Deadline = windowCharge, 2*batchTime
		if o := goDo(t.Context(), b, short).wait(); o.err != nil {
			t.Errorf("a recording with twice the time it takes: %v", o.err)
		}
	})
}

func TestADeadlineThatPassesEndsTheRequest(t *testing.T) {
	inBubble(t, Config{}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		runs := goDo(t.Context(), b, recording([]string{"r"}, []string{"s"}))
		late := clip("late")
		late.Deadline = batchTime / 2
		if o := goDo(t.Context(), b, late).wait(); !errors.Is(o.err, ErrDeadline) || o.stats.Queue != batchTime/2 {
			t.Errorf("%+v, %v", o.stats, o.err)
		}
		if o := runs.wait(); o.err != nil {
			t.Error(o.err)
		}
		for _, batch := range r.batches {
			for _, w := range batch {
				if w == "late" {
					t.Error("it ran all the same")
				}
			}
		}
	})
}

func TestClosedIsToldBeforeFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(whole{&fakeRunner{}}, Config{})
		if err := b.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := b.Check(clip("x")); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

func TestBadRequests(t *testing.T) {
	for name, req := range map[string]Request[string]{
		"weight":   {Work: &script{}, Weight: -1},
		"bytes":    {Work: &script{}, Bytes: -1},
		"deadline": {Work: &script{}, Deadline: -1},
	} {
		if err := req.check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestQueueShowsWhoWaits(t *testing.T) {
	inBubble(t, Config{MaxBatch: 2, CostCapMillis: 12_000, NoAdapt: true, NoBackfill: true}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		var all []*outcome
		ask := func(caller string, cost int64, req Request[string]) {
			req.Caller, req.CostMillis, req.Bytes = caller, cost, 10
			all = append(all, goDo(t.Context(), b, req))
		}
		ask("r", 60_000, recording([]string{"r1", "r2", "r3"}))
		ask("a", 10_000, clip("a"))
		ask("b", 8000, clip("b"))
		ask("c", 5000, clip("c"))
		ask("s", 90_000, recording([]string{"s1"}))
		q := b.Queue()
		names := func(w []Waiter) (out string) {
			for _, x := range w {
				out += x.Caller
			}
			return out
		}
		if got := names(q.Running) + "|" + names(q.Lanes[Clips]) + "|" + names(q.Lanes[Recordings]); got != "r|abc|rs" {
			t.Errorf("running, clips, recordings: %s", got)
		}
		if !q.InTurn || q.Turn != Recordings || q.CapMillis != 12_000 || q.BatchWait != DefaultBatchWait || q.Bytes != 50 || q.Owed != 0 {
			t.Errorf("%+v", q)
		}
		if !q.Lanes[Recordings][0].Started || q.Lanes[Recordings][1].Started {
			t.Errorf("started: %+v", q.Lanes[Recordings])
		}
		time.Sleep(batchTime + batchTime/2) // the clip turn runs: a, since b does not fit beside it
		q = b.Queue()
		if got := names(q.Running) + "|" + names(q.Lanes[Clips]); got != "a|bc" || q.Owed != 2 || !q.Lanes[Clips][0].Owed {
			t.Fatalf("running and clips: %s, %d owed", got, q.Owed)
		}
		if w := q.Lanes[Clips]; w[0].Predicted <= 0 || w[1].Predicted < w[0].Predicted {
			t.Errorf("predicted: %v, %v", w[0].Predicted, w[1].Predicted)
		}
		for _, o := range all {
			o.wait()
		}
	})
}

func TestSetBudgetReachesTheQueue(t *testing.T) {
	inBubble(t, Config{CostCapMillis: 720_000}, func(t *testing.T, b *Batcher[string], r *fakeRunner) {
		b.SetBudget(16_384)
		if got := b.Queue().CapMillis; got != 65_536 {
			t.Errorf("cap %d, want 65536", got)
		}
	})
}
