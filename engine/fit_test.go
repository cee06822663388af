package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// fitWindow is a window that takes so much memory.
type fitWindow struct {
	size int
	runs int // in which it ended without an error
}

func (w *fitWindow) Samples() int { return w.size }
func (w *fitWindow) Drop()        {}

// fitRunner runs windows in places, as models do, on a device with so much memory.
type fitRunner struct {
	places, memory int
	sizes          []int // of each try, how many windows it began with
}

var errTooFull = fmt.Errorf("a test's device: %w", ErrOutOfMemory)

func (r *fitRunner) run(_ context.Context, batch []Window, more func(free int) []Window,
	done func(w Window, err error)) {
	r.sizes = append(r.sizes, len(batch))
	waiting := batch
	for len(waiting) > 0 {
		active := waiting[:min(r.places, len(waiting))]
		waiting = waiting[len(active):]
		used := 0
		for _, w := range active {
			used += w.(*fitWindow).size
		}
		if used > r.memory {
			for _, w := range append(slices.Clone(active), waiting...) {
				done(w, errTooFull)
			}
			return
		}
		for _, w := range active {
			w.(*fitWindow).runs++
			done(w, nil)
		}
		if more != nil && len(waiting) == 0 {
			waiting = more(r.places)
		}
	}
}

func TestRunFitting(t *testing.T) {
	for _, c := range []struct {
		name          string
		batch, joined []int // what windows take
		memory        int
		sizes         []int
	}{
		{"all fit", []int{1, 1, 1}, nil, 3, []int{3}},
		{"half fits", []int{1, 1, 1, 1}, nil, 2, []int{4, 2, 2}},
		{"one at a time", []int{2, 2, 2, 2, 2}, nil, 3, []int{5, 3, 2, 1, 1, 1, 2, 1, 1}},
		{"alone too large", []int{9}, nil, 3, []int{1}},
		{"one too large", []int{1, 9, 1}, nil, 3, []int{3, 2, 1, 1, 1}},
		{"who joins does not fit", []int{1}, []int{2, 2}, 3, []int{1, 1, 1}},
		{"who joins alone is tried alone", []int{1}, []int{9}, 3, []int{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			windows := func(sizes []int) (all []Window) {
				for _, s := range sizes {
					all = append(all, &fitWindow{size: s})
				}
				return all
			}
			batch, joined := windows(c.batch), windows(c.joined)
			all, waiting := slices.Concat(batch, joined), joined
			r := &fitRunner{places: 8, memory: c.memory}
			ended := map[Window]int{}
			RunFitting(t.Context(), r.run, batch, func(int) []Window {
				more := waiting
				waiting = nil
				return more
			}, func(w Window, err error) {
				ended[w]++
				if fits := w.Samples() <= c.memory; fits != (err == nil) || err != nil && !errors.Is(err, ErrOutOfMemory) {
					t.Errorf("a window of %d: got %v", w.Samples(), err)
				}
			})
			for i, w := range all {
				if own := w.(*fitWindow); ended[w] != 1 || own.runs > 1 || own.runs == 0 && own.size <= c.memory {
					t.Errorf("window %d ended %d times and ran %d times", i, ended[w], own.runs)
				}
			}
			if !slices.Equal(r.sizes, c.sizes) {
				t.Errorf("tries of %v windows, want %v", r.sizes, c.sizes)
			}
		})
	}
}
