package batcher

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowRunner runs batches that take a fixed time, and sees that its device runs one at a time.
type slowRunner struct {
	takes time.Duration
	on    *load
	spent atomic.Int64 // nanoseconds
}

// load is how many batches a device runs, and has run at most.
type load struct{ now, most atomic.Int32 }

func (r *slowRunner) Run(ctx context.Context, batch []string, _ func(int) []string, done func(string, error)) {
	r.on.most.Store(max(r.on.most.Load(), r.on.now.Add(1)))
	time.Sleep(r.takes)
	r.on.now.Add(-1)
	r.spent.Add(int64(r.takes))
	for _, w := range batch {
		done(w, nil)
	}
}

// shared returns a batcher for each duration, on one device, and their runners.
func shared(times ...time.Duration) ([]*Batcher[string], []*slowRunner) {
	device := NewDevice()
	on := new(load)
	var batchers []*Batcher[string]
	var runners []*slowRunner
	for _, d := range times {
		r := &slowRunner{takes: d, on: on}
		runners = append(runners, r)
		batchers = append(batchers, New(Runner[string](r), Config{Device: device, MaxBatch: 1, BatchWait: -1}))
	}
	return batchers, runners
}

// keepBusy asks for one clip after the other until a time.
func keepBusy(t *testing.T, b *Batcher[string], until time.Time) {
	for time.Now().Before(until) {
		if _, err := b.Do(t.Context(), Request[string]{CostMillis: 1000, Work: &script{{"w"}}}); err != nil {
			t.Error(err)
		}
	}
}

func TestModelsShareADevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batchers, runners := shared(time.Second, 100*time.Millisecond, 300*time.Millisecond)
		end := time.Now().Add(90 * time.Second)
		for _, b := range batchers {
			for range 2 { // one waits while the other's batch runs
				go keepBusy(t, b, end)
			}
		}
		time.Sleep(90 * time.Second)
		for i, r := range runners {
			if spent := time.Duration(r.spent.Load()); spent < 28*time.Second || spent > 32*time.Second {
				t.Errorf("model %d had %v of 90 s, want a third", i, spent)
			}
		}
		if most := runners[0].on.most.Load(); most != 1 {
			t.Errorf("%d batches ran at once", most)
		}
		for _, b := range batchers {
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestUnusedTimeIsNotSaved lets one model come when another has run for a while.
func TestUnusedTimeIsNotSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batchers, runners := shared(200*time.Millisecond, 200*time.Millisecond)
		begin := time.Now()
		for range 2 {
			go keepBusy(t, batchers[0], begin.Add(60*time.Second))
		}
		time.Sleep(40 * time.Second)
		if spent := time.Duration(runners[0].spent.Load()); spent < 39*time.Second {
			t.Errorf("alone a model had %v of 40 s", spent)
		}
		for range 2 {
			go keepBusy(t, batchers[1], begin.Add(60*time.Second))
		}
		time.Sleep(21 * time.Second)
		if spent := time.Duration(runners[1].spent.Load()); spent < 9*time.Second || spent > 11*time.Second {
			t.Errorf("who came later had %v of 20 s, want half", spent)
		}
		for _, b := range batchers {
			b.Close(t.Context())
		}
	})
}

// TestWhoWaitsForTheDeviceCanLeave stops a batcher that another keeps from the device,
// and sees that the device goes on.
func TestWhoWaitsForTheDeviceCanLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batchers, runners := shared(10*time.Second, time.Second)
		go keepBusy(t, batchers[0], time.Now().Add(time.Second))
		synctest.Wait()
		answer := make(chan error)
		go func() {
			_, err := batchers[1].Do(context.Background(), Request[string]{CostMillis: 1000, Work: &script{{"w"}}})
			answer <- err
		}()
		time.Sleep(time.Second)
		now, cancel := context.WithCancel(t.Context())
		cancel()
		if err := batchers[1].Close(now); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v", err)
		}
		if err := <-answer; !errors.Is(err, ErrClosed) {
			t.Errorf("Do: %v", err)
		}
		if runners[1].spent.Load() != 0 {
			t.Error("a stopped batcher ran a batch")
		}
		if err := batchers[0].Close(t.Context()); err != nil {
			t.Error(err)
		}
		third := New(Runner[string](runners[1]), Config{Device: batchers[0].device})
		if _, err := third.Do(t.Context(), Request[string]{CostMillis: 1, Work: &script{{"w"}}}); err != nil {
			t.Error("the device is not free:", err)
		}
		third.Close(t.Context())
	})
}

// TestRivalsLengthenThePrediction compares the predicted wait with that of a batcher alone.
func TestRivalsLengthenThePrediction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batchers, _ := shared(time.Second, time.Second)
		defer func() {
			for _, b := range batchers {
				b.Close(t.Context())
			}
		}()
		keepBusy(t, batchers[0], time.Now().Add(3*time.Second))
		refused := func() time.Duration {
			var busy *BusyError
			err := batchers[0].Check(Request[string]{CostMillis: 1000, Work: &script{{"w"}}, Deadline: 1})
			if !errors.As(err, &busy) {
				t.Fatalf("got %v, want a BusyError", err)
			}
			return busy.Predicted
		}
		alone := refused()
		go keepBusy(t, batchers[0], time.Now().Add(time.Millisecond))
		synctest.Wait()
		running := refused()
		go keepBusy(t, batchers[1], time.Now().Add(time.Millisecond))
		synctest.Wait()
		if got := refused(); got != 2*running || running < alone {
			t.Errorf("predicted %v alone, %v while a batch runs, %v when another model waits too; want twice the second", alone, running, got)
		}
		time.Sleep(5 * time.Second)
	})
}

// TestRecordingsKeepASharedDeviceShortly: other models' clips wait for a batch of
// recordings, so it's to take a second at most.
func TestRecordingsKeepASharedDeviceShortly(t *testing.T) {
	for _, c := range []struct {
		fixed, each    float64 // seconds a batch, and a window
		shared         bool
		shortest, most float64 // of the longest batch, once sizes are known
	}{{0.6, 0.2, true, 0.8, 1.1}, {0.6, 0.2, false, 2.5, 3.1}, {1, 5, true, 6, 6.1}} {
		d := newBench(Config{})
		d.fixed, d.each[Recordings] = c.fixed, c.each
		d.f.SetShared(c.shared)
		d.by("a", Recordings, 9_000_000, 300, "r")
		longest := 0.0
		for i := range 20 {
			began := d.now
			if d.next() == "" {
				t.Fatal("no batch")
			}
			if took := d.now.Sub(began).Seconds(); i > 4 {
				longest = max(longest, took)
			}
		}
		if longest > c.most || longest < c.shortest {
			t.Errorf("%+v: a batch took %.1f s", c, longest)
		}
	}
}

// TestSharedTurnsBesideClips: a quantum of many seconds comes in batches of one,
// between which other models have the device.
func TestSharedTurnsBesideClips(t *testing.T) {
	d := newBench(Config{RecordingsShare: 0.9, NoBackfill: true})
	d.fixed, d.each = 0.1, [numLanes]float64{0.1, 0.2}
	d.f.SetShared(true)
	d.by("a", Recordings, 9_000_000, 300, "r")
	longest, batches := 0.0, 0
	for i := range 60 {
		d.clip(1, fmt.Sprint("a", i), fmt.Sprint("b", i))
		before := d.device
		d.next()
		if took := d.device[Recordings] - before[Recordings]; took > 0 && i > 10 {
			longest, batches = max(longest, took), batches+1
		}
	}
	if longest > 1.2 || batches < 30 {
		t.Errorf("%d batches of recordings, the longest %.1f s, want most of 50, of a second each", batches, longest)
	}
	if share := d.device[Recordings] / (d.device[Clips] + d.device[Recordings]); share < 0.6 {
		t.Errorf("recordings have %.2f of the device", share)
	}
}

func TestADeviceTellsOfClips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batchers, _ := shared(time.Second)
		b := batchers[0]
		if b.device.ClipsRun() != nil {
			t.Error("clips run on an idle device")
		}
		for _, lane := range []Lane{Clips, Recordings} {
			go b.Do(t.Context(), Request[string]{Lane: lane, CostMillis: 1000, Work: &script{{"w"}}})
			time.Sleep(400 * time.Millisecond)
			ended := b.device.ClipsRun()
			if (ended != nil) != (lane == Clips) {
				t.Errorf("while %v run: %v", lane, ended)
			}
			begin := time.Now()
			if ended != nil {
				<-ended
				if took := time.Since(begin); took != 600*time.Millisecond {
					t.Errorf("the batch of clips is said to end %v later, want 600 ms", took)
				}
			}
			time.Sleep(time.Second)
			if b.device.ClipsRun() != nil {
				t.Errorf("clips run after %v", lane)
			}
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
