package whisper

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"hark/engine"
)

// job is one request: its options and its chains.
type job struct {
	model    *Model
	options  engine.Options
	chains   []*chain
	spans    []engine.Span
	next     int    // the first chain not yet handed out
	language string // of the first window that was heard; what a doubtful one falls back to
	first    *chain // that window's, if its language was detected

	settled []engine.Segment // all that is final
	told    int              // of these, how many Settled has returned
	final   int              // chains whose segments are all among these
}

// window is what a job hands out: a chain to be decoded to its end, or one pass of it.
type window struct {
	chain   *chain
	whole   bool
	size    int
	before  int // segments that its chain had
	dropped atomic.Bool
}

// Samples is the length of sound in the window.
func (w *window) Samples() int { return w.size }

// Drop implements [engine.Window].
func (w *window) Drop() { w.dropped.Store(true) }

// NewJob implements [engine.Model].
func (m *Model) NewJob(samples []float32, spans []engine.Span, o engine.Options) (engine.Job, error) {
	if err := m.check(&o); err != nil {
		return nil, err
	}
	j := &job{model: m, options: o, spans: spans, language: o.Language}
	if o.Sequential && len(spans) > 0 {
		j.spans = []engine.Span{{Start: 0, End: len(samples)}}
	}
	prompt := initialPrompt(o.Keywords, o.Prompt, m.config.promptTokens(), m.vocabulary.tokenizer.Encode)
	for i, s := range j.spans {
		if s.Start < 0 || s.End > len(samples) || s.Start >= s.End {
			return nil, fmt.Errorf("span [%d, %d) of %d samples", s.Start, s.End, len(samples))
		}
		overlaps := s.Overlap > 0 || i+1 < len(j.spans) && j.spans[i+1].Overlap > 0
		j.chains = append(j.chains, &chain{
			job: j, samples: samples[s.Start:s.End], start: s.Start, words: o.WordTimestamps || overlaps,
			written: append([]int32(nil), prompt...), language: o.Language,
		})
	}
	return j, nil
}

// check refuses wishes that the model can't fulfil and fills in what was left open.
func (m *Model) check(o *engine.Options) error {
	v := m.vocabulary
	switch {
	case o.Language != "" && !v.knows(o.Language):
		known := strings.Join(v.languages, ", ")
		if !v.multilingual {
			known = "en; choose a multilingual model for others"
		}
		return &engine.OptionError{Option: "language",
			Reason: fmt.Sprintf("%s does not know %q, it knows %s", m.info.Name, o.Language, known)}
	case len(o.Languages) > 0 && !slices.ContainsFunc(o.Languages, v.knows):
		return &engine.OptionError{Option: "languages",
			Reason: fmt.Sprintf("%s knows none of %s", m.info.Name, strings.Join(o.Languages, ", "))}
	case o.Task == engine.Translate && !v.multilingual:
		return &engine.OptionError{Option: "task",
			Reason: m.info.Name + " knows English alone and can't translate; choose a multilingual model"}
	case o.BeamSize > maxBeam || o.BeamSize < 0:
		return &engine.OptionError{Option: "beam_size",
			Reason: fmt.Sprintf("%d is outside 0 to %d", o.BeamSize, maxBeam)}
	}
	for _, t := range o.Temperatures {
		if !(t >= 0 && t <= 1) {
			return &engine.OptionError{Option: "temperature", Reason: fmt.Sprintf("%g is outside 0 to 1", t)}
		}
	}
	if len(o.Temperatures) == 0 {
		o.Temperatures = defaultTemperatures
	}
	o.Languages = slices.DeleteFunc(slices.Clone(o.Languages), func(code string) bool { return !v.knows(code) })
	if len(o.Languages) == 1 && o.Language == "" {
		o.Language = o.Languages[0]
	}
	if !v.multilingual {
		o.Language = "en"
	}
	return nil
}

// Next implements [engine.Job].
func (j *job) Next(most int) []engine.Window {
	var windows []engine.Window
	if j.options.Sequential {
		if len(j.chains) > 0 && !j.chains[0].ended && most > 0 {
			c := j.chains[0]
			left := len(c.samples) - c.seek*hopSamples
			windows = append(windows, &window{chain: c, size: min(framesPerWindow*hopSamples, left),
				before: len(c.segments)})
		}
		return windows
	}
	for ; j.next < len(j.chains) && len(windows) < most; j.next++ {
		c := j.chains[j.next]
		if c.ended { // restored
			continue
		}
		windows = append(windows, &window{chain: c, whole: true, size: len(c.samples)})
	}
	return windows
}

// Progress implements [engine.Job].
func (j *job) Progress() (done, total int) {
	for _, c := range j.chains {
		done += int(c.done.Load())
		total += len(c.samples)
	}
	return done, total
}

// Result implements [engine.Job].
func (j *job) Result() *engine.Result {
	j.settle()
	return &engine.Result{Language: j.spoken(), Segments: j.settled}
}

// spoken is the language of most of what was heard.
func (j *job) spoken() string {
	if len(j.chains) == 0 {
		return j.options.Language
	}
	seconds := map[string]float64{}
	best := j.chains[0].language
	for _, c := range j.chains {
		for _, s := range c.merged {
			seconds[c.language] += s.end - s.start
		}
		if seconds[c.language] > seconds[best] {
			best = c.language
		}
	}
	return best
}
