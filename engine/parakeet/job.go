package parakeet

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"hark/engine"
)

const (
	// keywordBeam is how many hypotheses are followed where keywords are to win but no beam was asked for.
	keywordBeam = 4
	// maxKeywords and maxKeywordBytes bound a request's keywords.
	maxKeywords, maxKeywordBytes = 1000, 200
	// contextTokens is how much of the text before a sequential window is told to the prediction network, which
	// forgets what is longer ago.
	contextTokens = 64
)

// job is one request: its options and its windows.
type job struct {
	model   *Model
	options engine.Options
	beam    int      // hypotheses; 1 is greedy
	boost   *booster // nil: no keywords
	samples int
	windows []*window
	next    int // the first window not yet handed out

	final   int              // windows whose words are all in settled or tail
	tail    []spokenToken    // the last sentence so far, which may go on in the next window
	settled []engine.Segment // all that is final
	told    int              // of these, how many Settled has returned
	at      int              // the window in which the last of these starts
}

// window is what a job hands out: a span and, once it has run, what was heard in it.
type window struct {
	job     *job
	number  int
	span    engine.Span
	samples []float32
	padding int // zeros before the samples, as the encoder hears them
	heard   []token
	spoken  []spokenWord // what was heard, as merged so far; nil before
	ended   bool
	done    atomic.Int64 // samples dealt with
	dropped atomic.Bool
}

// Samples is the length of sound in the window.
func (w *window) Samples() int { return len(w.samples) }

// Drop implements [engine.Window].
func (w *window) Drop() { w.dropped.Store(true) }

// encoded notes that most of the work is done: the decoder takes a small part of the encoder's time.
func (w *window) encoded() { w.done.Store(int64(len(w.samples) / 10 * 9)) }

// finish notes what was heard.
func (w *window) finish(heard []token) {
	w.heard, w.ended = heard, true
	w.done.Store(int64(len(w.samples)))
}

// NewJob implements [engine.Model].
func (m *Model) NewJob(samples []float32, spans []engine.Span, o engine.Options) (engine.Job, error) {
	if err := m.check(&o); err != nil {
		return nil, err
	}
	j := &job{model: m, options: o, beam: max(1, o.BeamSize), samples: len(samples)}
	if j.boost = newBooster(m.pieces, o.Keywords); j.boost != nil && j.beam == 1 {
		j.beam = keywordBeam
	}
	for i, s := range spans {
		switch {
		case s.Start < 0 || s.End > len(samples) || s.Start >= s.End:
			return nil, fmt.Errorf("span [%d, %d) of %d samples", s.Start, s.End, len(samples))
		case s.End-s.Start > m.info.MaxWindowSamples:
			return nil, fmt.Errorf("a span of %d samples, at most %d are taken", s.End-s.Start, m.info.MaxWindowSamples)
		}
		w := &window{job: j, number: i, span: s, samples: samples[s.Start:s.End]}
		w.padding = max(0, m.minSamples-len(w.samples)) / 2
		j.windows = append(j.windows, w)
	}
	return j, nil
}

// check refuses wishes that the model can't fulfil. Temperatures are no wish for anything else: nothing is
// drawn at random here, whatever they are.
func (m *Model) check(o *engine.Options) error {
	switch {
	case o.Language != "" && !slices.Contains(m.info.Languages, o.Language):
		return &engine.OptionError{Option: "language", Reason: fmt.Sprintf("%s does not know %q, it knows %s",
			m.info.Name, o.Language, strings.Join(m.info.Languages, ", "))}
	case len(o.Languages) > 0 && !slices.ContainsFunc(o.Languages,
		func(code string) bool { return slices.Contains(m.info.Languages, code) }):
		return &engine.OptionError{Option: "languages", Reason: fmt.Sprintf("%s knows none of %s, it knows %s",
			m.info.Name, strings.Join(o.Languages, ", "), strings.Join(m.info.Languages, ", "))}
	case o.Task == engine.Translate:
		return &engine.OptionError{Option: "task",
			Reason: m.info.Name + " can't translate; choose a multilingual Whisper model"}
	case strings.TrimSpace(o.Prompt) != "":
		return &engine.OptionError{Option: "prompt",
			Reason: m.info.Name + " takes no prompt; send names and spellings to expect as keywords"}
	case o.BeamSize > maxBeam || o.BeamSize < 0:
		return &engine.OptionError{Option: "beam_size",
			Reason: fmt.Sprintf("%d is outside 0 to %d", o.BeamSize, maxBeam)}
	case len(o.Keywords) > maxKeywords:
		return &engine.OptionError{Option: "keywords",
			Reason: fmt.Sprintf("there are %d, at most %d are taken", len(o.Keywords), maxKeywords)}
	}
	for _, word := range o.Keywords {
		if len(word) > maxKeywordBytes {
			return &engine.OptionError{Option: "keywords",
				Reason: fmt.Sprintf("%.20q… has %d bytes, at most %d are taken", word, len(word), maxKeywordBytes)}
		}
	}
	return nil
}

// Next implements [engine.Job]. A sequential job hands out one window at a time, when the one before it has ended.
func (j *job) Next(most int) []engine.Window {
	if j.options.Sequential {
		if j.next > 0 && !j.windows[j.next-1].ended {
			return nil
		}
		most = min(most, 1)
	}
	var windows []engine.Window
	for ; j.next < len(j.windows) && len(windows) < most; j.next++ {
		if w := j.windows[j.next]; !w.ended { // not restored
			windows = append(windows, w)
		}
	}
	return windows
}

// Progress implements [engine.Job].
func (j *job) Progress() (done, total int) {
	for _, w := range j.windows {
		done += int(w.done.Load())
		total += len(w.samples)
	}
	return done, total
}

// context is the text before the window that its decoding starts from: none, unless the job is sequential. What the
// window hears again, where it overlaps the one before, is left out.
func (w *window) context() []int32 {
	o := &w.job.options
	if !o.Sequential || o.Unconditioned {
		return nil
	}
	var ids []int32 // latest first
	for i := w.number - 1; i >= 0; i-- {
		before := w.job.windows[i]
		for _, t := range slices.Backward(before.placed()) {
			if len(ids) == contextTokens {
				slices.Reverse(ids)
				return ids
			}
			if t.end <= seconds(w.span.Start) {
				ids = append(ids, t.id)
			}
		}
	}
	slices.Reverse(ids)
	return ids
}

// placed are the window's tokens in the audio's time, within the window.
func (w *window) placed() []spokenToken {
	start, end := seconds(w.span.Start), seconds(w.span.End)
	tokens := placeTokens(w.heard, seconds(w.span.Start-w.padding), w.job.model.config.FrameSeconds())
	for i := range tokens {
		t := &tokens[i]
		t.start, t.end = min(max(t.start, start), end), min(max(t.end, start), end)
	}
	return tokens
}

// Result implements [engine.Job]. The language is the one asked for, or the model's only one; else nobody says.
func (j *job) Result() *engine.Result {
	r := &engine.Result{Language: j.options.Language}
	if only := j.model.info.Languages; len(only) == 1 {
		r.Language = only[0]
	}
	j.settle()
	r.Segments = j.settled
	return r
}

// framesPerSecond is the unit of [engine.Segment.Seek].
const framesPerSecond = 100

func seconds(samples int) float64 { return float64(samples) / engine.SampleRate }
