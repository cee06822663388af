package whisper

import (
	"context"
	"errors"
	"testing"

	"hark/engine"
)

// TestWindowsJoin feeds a running batch: every window that joins is done once, and its answer is that of its lone run.
func TestWindowsJoin(t *testing.T) {
	m := patient(tinyModel(t))
	o := engine.Options{Temperatures: []float32{0}}
	var jobs []engine.Job
	var alone []string
	var waiting []engine.Window
	for i := range 20 {
		samples := noise(16000*(1+i%5), uint64(100+i))
		alone = append(alone, toJSON(t, transcribe(t, m, samples, whole(samples), o)))
		j, err := m.NewJob(samples, whole(samples), o)
		if err != nil {
			t.Fatal(err)
		}
		jobs, waiting = append(jobs, j), append(waiting, j.Next(1)...)
	}
	batch, waiting := waiting[:3], waiting[3:]
	done := map[engine.Window]int{}
	asked := 0
	m.Run(context.Background(), batch, func(free int) []engine.Window {
		if free < 1 || free > m.info.MaxBatch {
			t.Errorf("asked for %d windows", free)
		}
		asked++
		n := min(free, 2, len(waiting))
		joining := waiting[:n]
		waiting = waiting[n:]
		return joining
	}, func(w engine.Window, err error) {
		if err != nil {
			t.Error(err)
		}
		done[w]++
	})
	if len(done) != len(jobs) || asked < 10 {
		t.Errorf("%d of %d windows are done after %d questions", len(done), len(jobs), asked)
	}
	for _, n := range done {
		if n != 1 {
			t.Errorf("a window was done %d times", n)
		}
	}
	for i, j := range jobs {
		if got := toJSON(t, j.Result()); got != alone[i] {
			t.Errorf("job %d:\njoined %.300s\nalone  %.300s", i, got, alone[i])
		}
	}
}

// TestDroppedWindowsLeave: windows that nobody waits for end at once, in the batch and
// before it, and cost nobody else anything.
func TestDroppedWindowsLeave(t *testing.T) {
	m := patient(tinyModel(t))
	o := engine.Options{Temperatures: []float32{0}}
	samples := noise(16000*5, 1)
	want := toJSON(t, transcribe(t, m, samples, whole(samples), o))
	var jobs []engine.Job
	var batch []engine.Window
	for range 4 {
		j, err := m.NewJob(samples, whole(samples), o)
		if err != nil {
			t.Fatal(err)
		}
		jobs, batch = append(jobs, j), append(batch, j.Next(1)...)
	}
	batch[0].Drop() // before the batch begins
	asked := 0
	errs := map[engine.Window]error{}
	m.Run(context.Background(), batch, func(int) []engine.Window {
		if asked++; asked == 2 {
			batch[1].Drop() // while it runs
		}
		return nil
	}, func(w engine.Window, err error) { errs[w] = err })
	for i, w := range batch {
		if cancelled := errors.Is(errs[w], context.Canceled); cancelled != (i < 2) || !cancelled && errs[w] != nil {
			t.Errorf("window %d: got %v", i, errs[w])
		}
	}
	for i := 2; i < 4; i++ {
		if got := toJSON(t, jobs[i].Result()); got != want {
			t.Errorf("job %d beside a dropped one:\ngot  %.300s\nwant %.300s", i, got, want)
		}
	}
}

// TestWindowsGoOnLater: however long it takes to hear a window, no batch lasts longer than patience allows, and what is
// heard is the same.
func TestWindowsGoOnLater(t *testing.T) {
	const textContext = 48
	dir := t.TempDir()
	writeShortModel(t, dir, textContext)
	dev, err := testDevice()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Load(dev, dir, "short", Settings{Speech: noise(5*engine.SampleRate, 5), ShortContext: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.patience != patience {
		t.Errorf("a model is loaded with a patience of %d, want %d", m.patience, patience)
	}
	samples := noise(16000*8, 3)
	spans := []engine.Span{{End: 16000 * 5}, {Start: 16000 * 4, End: 16000 * 6, Overlap: 16000}, {Start: 16000 * 6, End: 16000 * 8}}
	ladder := []float32{0, 0.4, 1} // random text is never sound: all of it, in each pass
	for name, o := range map[string]engine.Options{
		"windows": {Temperatures: ladder}, "words and beams": {Temperatures: ladder, WordTimestamps: true, BeamSize: 2},
		"chain": {Temperatures: ladder, Sequential: true},
	} {
		t.Run(name, func(t *testing.T) {
			own := patient(m)
			want := toJSON(t, transcribe(t, own, samples, spans, o))
			for _, own.patience = range []int{1, 100} {
				j, err := own.NewJob(samples, spans, o)
				if err != nil {
					t.Fatal(err)
				}
				batches, longest := heardInTurns(t, own, j)
				if got := toJSON(t, j.Result()); got != want {
					t.Errorf("patience %d:\ngot  %.300s\nwant %.300s", own.patience, got, want)
				}
				// The last try begins just before, and again in the whole context.
				if most := own.patience + 2*textContext/2 + 3; longest > most || batches < 2 {
					t.Errorf("patience %d: %d batches, one of %d steps, want %d at most", own.patience, batches, longest, most)
				}
			}
		})
	}
}

// heardInTurns runs a job to its end and returns in how many batches, and of how many steps the longest was.
func heardInTurns(t *testing.T, m *Model, j engine.Job) (batches, longest int) {
	t.Helper()
	for batch := j.Next(m.info.MaxBatch); len(batch) > 0; {
		steps := 0
		var left []engine.Window
		m.Run(t.Context(), batch, func(int) []engine.Window {
			steps++ // there is always room for one more
			return nil
		}, func(w engine.Window, err error) {
			if errors.Is(err, engine.ErrUnfinished) {
				left = append(left, w)
			} else if err != nil {
				t.Error(err)
			}
		})
		batches, longest = batches+1, max(longest, steps)
		if batch = left; len(left) == 0 {
			batch = j.Next(m.info.MaxBatch)
		}
	}
	return batches, longest
}
