package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"hark/engine"
)

// AutoModel is the name under which two models work together: a Parakeet hears everything, and what it is unsure of, or can't hear at
// all, a Whisper hears again.
const AutoModel = "auto"

// minSureness is the mean log-probability of a window's tokens below which a Parakeet is not believed. The trained Parakeet that could be
// had knows 95 words: where it hears them its windows are above -0.03, with one exception of -0.13 at twice the usual speed; other
// people's speech, of which it makes nonsense, is below -0.149 in each of 35 clips.
const minSureness = -0.14

// errNoPair says that "auto" lacks one of its models.
var errNoPair = errors.New("no Parakeet and Whisper are served together")

// pair is the first Parakeet and the first Whisper that are served. What a model is is known once it has been loaded: those that have not
// been are loaded until there is one of each. Neither is kept loaded by that.
func (t *Transcriber) pair(ctx context.Context) (quick, careful engine.ModelInfo, err error) {
	for _, name := range t.cfg.Auto {
		info, ok := t.models.Known(name)
		if !ok {
			ref, err := t.models.Acquire(ctx, name)
			if err != nil {
				return quick, careful, err
			}
			info = ref.Model().Info()
			ref.Release()
		}
		switch {
		case info.Family == "parakeet" && quick.Name == "":
			quick = info
		case info.Family == "whisper" && careful.Name == "":
			careful = info
		}
		if quick.Name != "" && careful.Name != "" {
			return quick, careful, nil
		}
	}
	return quick, careful, errNoPair
}

// transcribeAuto has two models transcribe an input together. They are used one after the other, never both at once, since there may be
// memory for one only.
func (t *Transcriber) transcribeAuto(ctx context.Context, in Input) (*Transcript, error) {
	quick, careful, err := t.pair(ctx)
	if err != nil {
		return nil, err
	}
	info := careful
	info.Name = AutoModel
	info.MaxWindowSamples = min(info.MaxWindowSamples, quick.MaxWindowSamples)
	p, tr, err := t.open(ctx, in, info)
	if err != nil {
		return nil, err
	}
	tr.Result, err = t.hearTwice(ctx, quick, careful, in, p, tr)
	p.close()
	if err != nil {
		return nil, err
	}
	return tr, nil
}

// hearTwice has the quick model hear everything that it can, and the careful one what is left.
func (t *Transcriber) hearTwice(ctx context.Context, quick, careful engine.ModelInfo, in Input, p *prepared, tr *Transcript) (*engine.Result, error) {
	first, doubtful := &engine.Result{}, p.channels
	if canHear(quick, in.Options) {
		plain := in
		plain.Model, plain.Options.Prompt = quick.Name, "" // which only the other understands
		var err error
		if first, doubtful, err = t.hearSure(ctx, plain, p, tr); err != nil {
			return nil, err
		}
	}
	second := &engine.Result{Language: silentLanguage(in.Options, careful)}
	if slices.ContainsFunc(doubtful, func(spans []engine.Span) bool { return len(spans) > 0 }) {
		q, err := t.queue(ctx, careful.Name)
		if err != nil {
			return nil, err
		}
		defer q.Release()
		rest := &prepared{pcm: p.pcm, channels: doubtful}
		in.Progress = nil // all has been heard once
		second, err = t.hear(ctx, q, in, rest, tr)
		p.running = rest.running
		if err != nil {
			return nil, err
		}
	}
	return join(first, quick.Name, second, careful.Name), nil
}

// canHear reports whether a model can do what is asked at all.
func canHear(info engine.ModelInfo, o engine.Options) bool {
	return o.Task == engine.Transcribe && !o.Sequential && (o.Language == "" || slices.Contains(info.Languages, o.Language))
}

// hearSure has a model hear everything, and returns what it was sure of, and the windows of the rest by channel. Windows that share some
// sound are judged together, all others by themselves, so that no segment belongs to two.
func (t *Transcriber) hearSure(ctx context.Context, in Input, p *prepared, tr *Transcript) (*engine.Result, [][]engine.Span, error) {
	q, err := t.queue(ctx, in.Model)
	if err != nil {
		return nil, nil, err
	}
	defer q.Release()
	stretches := p.stretches()
	all := &series{}
	var cost int64
	for _, s := range stretches {
		job, err := q.Model().NewJob(p.pcm.Channels[s.channel], s.spans, in.Options)
		if err != nil {
			return nil, nil, err
		}
		all.jobs = append(all.jobs, job)
		for _, span := range s.spans {
			cost += millis(span.End - span.Start)
		}
	}
	if cost > 0 {
		if err := t.run(ctx, q, in, p, tr, all, cost); err != nil {
			return nil, nil, err
		}
	}
	sure, doubtful := &engine.Result{}, make([][]engine.Span, len(p.channels))
	for i, s := range stretches {
		r := all.jobs[i].Result()
		if !isSure(r.Segments) {
			doubtful[s.channel] = append(doubtful[s.channel], s.spans...)
			continue
		}
		sure.Language = r.Language
		for _, segment := range r.Segments {
			if in.Choice.Separate {
				segment.Speaker = strconv.Itoa(s.channel)
			}
			sure.Segments = append(sure.Segments, segment)
		}
	}
	return sure, doubtful, nil
}

// stretch is windows of one channel that overlap, each the next.
type stretch struct {
	channel int
	spans   []engine.Span
}

func (p *prepared) stretches() []stretch {
	var all []stretch
	for c, spans := range p.channels {
		from := 0
		for i := range spans {
			if i+1 == len(spans) || spans[i+1].Overlap == 0 {
				all = append(all, stretch{c, spans[from : i+1]})
				from = i + 1
			}
		}
	}
	return all
}

// isSure reports whether a text is to be believed. Speech without a text is not.
func isSure(segments []engine.Segment) bool {
	sum, tokens := 0.0, 0
	for _, s := range segments {
		sum += s.AvgLogProb * float64(len(s.Tokens))
		tokens += len(s.Tokens)
	}
	return tokens > 0 && sum/float64(tokens) >= minSureness
}

// join merges two results by time and notes whose each segment is. The language is that of the model that had more to say.
func join(first *engine.Result, quick string, second *engine.Result, careful string) *engine.Result {
	all := &engine.Result{Language: second.Language}
	if speech(first) > speech(second) && first.Language != "" {
		all.Language = first.Language
	}
	for _, part := range []struct {
		*engine.Result
		model string
	}{{first, quick}, {second, careful}} {
		for _, s := range part.Segments {
			s.Model = part.model
			all.Segments = append(all.Segments, s)
		}
	}
	slices.SortStableFunc(all.Segments, func(a, b engine.Segment) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// speech is how many seconds of a result are segments.
func speech(r *engine.Result) (s float64) {
	for _, segment := range r.Segments {
		s += segment.End - segment.Start
	}
	return s
}
