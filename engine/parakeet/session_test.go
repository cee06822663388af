package parakeet

import (
	"context"
	"errors"
	"math"
	"testing"

	"hark/engine"
)

// failing is a device that fails, or gives what is no number, from some question on.
type failing struct {
	engine.Device
	good int // questions answered before
	err  error
}

func (d *failing) Peaks(logits engine.Tensor, ranges []engine.Range, power float32) ([]engine.Peak, error) {
	if d.good--; d.good >= 0 || d.err == nil && d.good < -1000 {
		return d.Device.Peaks(logits, ranges, power)
	}
	if d.err != nil {
		return nil, d.err
	}
	nan := make([]float32, logits.Rows*logits.Cols)
	for i := range nan {
		nan[i] = float32(math.NaN())
	}
	d.Upload(logits, nan)
	return d.Device.Peaks(logits, ranges, power)
}

// loadOn is the small model on a device of the test's own.
func loadOn(t testing.TB, dev engine.Device) *Model {
	t.Helper()
	m, err := Load(dev, repository+"parakeet-tiny.nemo", "tiny", Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// jobsOf makes a job for each of some recordings, and says what each hears alone.
func jobsOf(t testing.TB, m *Model, o engine.Options, names ...string) (jobs []*job, alone []string) {
	t.Helper()
	for _, name := range names {
		samples := recordingSamples(t, name)
		alone = append(alone, toJSON(t, hear(t, m, samples, o)))
		jobs = append(jobs, newJob(t, m, samples, o))
	}
	return jobs, alone
}

func windowsOf(jobs []*job) (windows []engine.Window) {
	for _, j := range jobs {
		windows = append(windows, j.Next(len(j.windows))...)
	}
	return windows
}

// TestDroppedWindowsLeave: windows that nobody waits for end at once, in the batch and
// before it, and cost nobody else anything.
func TestDroppedWindowsLeave(t *testing.T) {
	m := loadTiny(t)
	for _, o := range []engine.Options{{}, {BeamSize: 4}} {
		jobs, alone := jobsOf(t, m, o, "08_three", "02_digits", "07_two", "08_three", "05_sentence", "03_sentence")
		batch := windowsOf(jobs)
		late, batch := batch[5:], batch[:5]
		batch[0].Drop() // before the batch begins
		asked := 0
		errs := map[engine.Window]error{}
		m.Run(context.Background(), batch, func(int) []engine.Window {
			if asked++; asked == 3 {
				batch[3].Drop() // while it runs
			}
			if asked != 5 {
				return nil
			}
			late[0].Drop() // before it has joined
			return late
		}, func(w engine.Window, err error) { errs[w] = err })
		for i, w := range append(batch, late...) {
			err, done := errs[w]
			dropped := i == 0 || i == 3 || i == 5
			if !done || errors.Is(err, context.Canceled) != dropped || !dropped && err != nil {
				t.Errorf("window %d: got %v, done %t", i, err, done)
			}
			if !dropped {
				if got := toJSON(t, jobs[i].Result()); got != alone[i] {
					t.Errorf("job %d beside dropped ones:\ngot  %s\nwant %s", i, got, alone[i])
				}
			}
		}
	}
}

// TestCancel: when the context ends, what isn't finished comes back with its error, at once.
func TestCancel(t *testing.T) {
	m := loadTiny(t)
	jobs, _ := jobsOf(t, m, engine.Options{}, "08_three", "01_word", "07_two")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	asked := 0
	errs := map[engine.Window]error{}
	windows := windowsOf(jobs)
	m.Run(ctx, windows[:2], func(int) []engine.Window {
		if asked++; asked == 2 {
			return windows[2:]
		}
		if asked == 12 {
			cancel()
		}
		return nil
	}, func(w engine.Window, err error) { errs[w] = err })
	for i, w := range windows {
		err, done := errs[w]
		if !done || errors.Is(err, context.Canceled) != (i != 1) {
			t.Errorf("window %d: got %v, done %t", i, err, done)
		}
	}
	// The model is as good as before.
	if got, want := hear(t, m, recordingSamples(t, "01_word"), engine.Options{}).Text(), "Stop!"; got != want {
		t.Errorf("afterwards: got %q, want %q", got, want)
	}
}

// TestDeviceFails: everything unfinished gets the device's error.
func TestDeviceFails(t *testing.T) {
	lost := errors.New("the device is lost")
	for _, beam := range []int{1, 4} {
		dev := &failing{Device: newTestDevice(t), good: math.MaxInt}
		m := loadOn(t, dev)
		jobs, _ := jobsOf(t, m, engine.Options{BeamSize: beam}, "01_word", "08_three")
		dev.good, dev.err = 10, lost
		errs := map[engine.Window]error{}
		windows := windowsOf(jobs)
		m.Run(context.Background(), windows, nil, func(w engine.Window, err error) { errs[w] = err })
		if len(errs) != 2 || !errors.Is(errs[windows[1]], lost) {
			t.Errorf("beam %d: got %v", beam, errs)
		}
	}
}

// TestNoNumbers: a model that computes nonsense still comes to an end.
func TestNoNumbers(t *testing.T) {
	for _, o := range []engine.Options{{}, {BeamSize: 4}, {Keywords: []string{"Maria"}}} {
		dev := &failing{Device: newTestDevice(t), good: math.MaxInt}
		m := loadOn(t, dev)
		for _, good := range []int{0, 3} {
			dev.good = good
			samples := recordingSamples(t, "02_digits")
			checkTimes(t, runSpans(t, m, samples, whole(samples), o), seconds(len(samples)))
		}
	}
}

func TestForeignWindows(t *testing.T) {
	m, other := loadTiny(t), loadTiny(t)
	jobs, _ := jobsOf(t, other, engine.Options{}, "01_word")
	errs := 0
	m.Run(context.Background(), windowsOf(jobs), nil, func(_ engine.Window, err error) {
		if err != nil {
			errs++
		}
	})
	if errs != 1 {
		t.Error("another model's window was run")
	}
}

func TestRunNothing(t *testing.T) {
	loadTiny(t).Run(context.Background(), nil, func(int) []engine.Window { return nil }, func(engine.Window, error) { t.Error("a window was done") })
}
