package parakeet

import (
	"encoding/json"
	"errors"
	"math"

	"hark/engine"
)

// keptWindow is what was heard in a window.
type keptWindow struct {
	Tokens []keptToken `json:"tokens"`
}

type keptToken struct {
	ID         int32   `json:"id"`
	Frame      int     `json:"frame"`
	Duration   int     `json:"duration"`
	LogProb    float32 `json:"logprob"`
	Confidence float32 `json:"confidence"`
}

// errNotEnded says that there is nothing to keep.
var errNotEnded = errors.New("the window has not been heard to its end")

// Keep implements [engine.Job].
func (j *job) Keep(w engine.Window) (engine.Kept, error) {
	own, ok := w.(*window)
	if !ok || own.job != j || !own.ended {
		return engine.Kept{}, errNotEnded
	}
	kept := keptWindow{Tokens: make([]keptToken, len(own.heard))}
	for i, t := range own.heard {
		kept.Tokens[i] = keptToken{t.id, t.frame, t.duration, t.logProb, t.confidence}
	}
	state, err := json.Marshal(kept)
	return engine.Kept{Start: own.span.Start, End: own.span.End, State: state}, err
}

// Restore implements [engine.Job].
func (j *job) Restore(kept []engine.Kept) {
	windows := map[[2]int]*window{}
	for _, w := range j.windows {
		windows[[2]int{w.span.Start, w.span.End}] = w
	}
	for _, k := range kept {
		var state keptWindow
		w := windows[[2]int{k.Start, k.End}]
		if w == nil || json.Unmarshal(k.State, &state) != nil || !w.fits(&state) {
			continue
		}
		heard := make([]token, len(state.Tokens))
		for i, t := range state.Tokens {
			heard[i] = token{t.ID, t.Frame, t.Duration, t.LogProb, t.Confidence}
		}
		w.finish(heard)
	}
}

// fits reports whether tokens can have been heard in the window.
func (w *window) fits(k *keptWindow) bool {
	const most = math.MaxInt32 // frames; a token may end after its window
	before := 0
	for _, t := range k.Tokens {
		known := t.ID >= 0 && t.ID < w.job.model.dec.steps.blank && t.LogProb <= 0 &&
			t.Confidence >= 0 && t.Confidence <= 1
		if !known || t.Frame < before || t.Frame > most || t.Duration < 0 || t.Duration > most {
			return false
		}
		before = t.Frame
	}
	return true
}
