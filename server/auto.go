package server

import (
	"context"
	"errors"
	"math"
	"slices"

	"hark/engine"
)

// AutoModel is the name under which two models work together: a Parakeet hears everything, and what it is unsure of, or
// can't hear at all, a Whisper hears again.
const AutoModel = "auto"

// minSureness is the mean log-probability of a window's tokens below which a Parakeet is not believed.
// The trained Parakeet that could be had knows 95 words: where it hears them its windows are above -0.03,
// with one exception of -0.13 at twice the usual speed; other people's speech, of which it makes
// nonsense, is below -0.149 in each of 35 clips.
const minSureness = -0.14

// errNoPair says that "auto" lacks one of its models.
var errNoPair = errors.New("no Parakeet and Whisper are served together")

// pair is the first Parakeet and the first Whisper that are served. What a model is is known once it has been loaded:
// those that have not been are loaded until there is one of each. Neither is kept loaded by that.
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

// transcribeAuto has two models transcribe an input together. They are used one after the other, never both at
// once, since there may be memory for one only.
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
func (t *Transcriber) hearTwice(ctx context.Context, quick, careful engine.ModelInfo, in Input, p *prepared,
	tr *Transcript) (*engine.Result, error) {
	h := newHearing(in)
	defer h.end()
	channels := p.judge(h)
	first := &engine.Result{}
	if canHear(quick, in.Options) {
		var err error
		if first, err = t.hearSure(ctx, quick.Name, h, channels, in, p, tr); err != nil {
			return nil, err
		}
	} else {
		for c, j := range channels {
			j.doubtful, j.sure.from = p.channels[c], math.Inf(1)
		}
	}
	second, err := t.hearDoubtful(ctx, careful, h, channels, in, p, tr)
	if err != nil {
		return nil, err
	}
	language := second.Language
	if speech(first) > speech(second) && first.Language != "" {
		language = first.Language // that of the model that had more to say
	}
	return h.result(language), nil
}

// canHear reports whether a model can do what is asked at all.
func canHear(info engine.ModelInfo, o engine.Options) bool {
	knows := func(code string) bool { return slices.Contains(info.Languages, code) }
	return o.Task == engine.Transcribe && !o.Sequential && (o.Language == "" || knows(o.Language)) &&
		(len(o.Languages) == 0 || slices.ContainsFunc(o.Languages, knows))
}

// hearSure has the quick model hear everything and judges it. The result is what is believed.
func (t *Transcriber) hearSure(ctx context.Context, name string, h *hearing, channels []*judged, in Input, p *prepared,
	tr *Transcript) (*engine.Result, error) {
	q, err := t.queue(ctx, name)
	if err != nil {
		return nil, err
	}
	defer q.Release()
	in.Options.Prompt = "" // which only the other understands
	s, cost := &series{hearing: h, model: q.Model().Info(), audio: p.pcm}, int64(0)
	for c, j := range channels {
		for _, stretch := range j.stretches {
			strand, ms, err := s.add(q.Model(), c, stretch.spans, in.Options, total(stretch.spans))
			if err != nil {
				return nil, err
			}
			stretch.strand = strand
			strand.settle = func() { j.settle(name, in.Choice.Separate) }
			cost += ms
		}
	}
	if err := t.run(ctx, q, in, p, tr, s, cost); err != nil {
		return nil, err
	}
	believed := &engine.Result{}
	for _, j := range channels {
		if len(j.believed) > 0 {
			believed.Segments = append(believed.Segments, j.believed...)
			believed.Language = j.language
		}
	}
	return believed, nil
}

// hearDoubtful has the careful model hear what is in doubt.
func (t *Transcriber) hearDoubtful(ctx context.Context, careful engine.ModelInfo, h *hearing, channels []*judged,
	in Input, p *prepared, tr *Transcript) (*engine.Result, error) {
	if !slices.ContainsFunc(channels, func(j *judged) bool { return len(j.doubtful) > 0 }) {
		for _, j := range channels {
			j.doubt.from = math.Inf(1)
		}
		return &engine.Result{Language: silentLanguage(in.Options, careful)}, nil
	}
	q, err := t.queue(ctx, careful.Name)
	if err != nil {
		return nil, err
	}
	defer q.Release()
	in.Progress = nil // all has been heard once
	s, cost := &series{hearing: h, model: q.Model().Info(), audio: p.pcm, sequential: in.Options.Sequential}, int64(0)
	for c, j := range channels {
		samples := total(j.doubtful)
		if in.Options.Sequential {
			samples = p.length()
		}
		strand, ms, err := s.add(q.Model(), c, j.doubtful, in.Options, samples)
		if err != nil {
			return nil, err
		}
		if strand == nil {
			j.doubt.from = math.Inf(1)
			continue
		}
		strand.settle = strand.settleTo(j.doubt, in.Choice.Separate, careful.Name)
		cost += ms
	}
	if err := t.run(ctx, q, in, p, tr, s, cost); err != nil {
		return nil, err
	}
	all := &engine.Result{Language: s.language()}
	for _, strand := range s.strands {
		all.Segments = append(all.Segments, strand.Result().Segments...)
	}
	return all, nil
}

// stretch is windows of one channel that overlap, each the next. They are judged
// together, so that no segment belongs to two.
type stretch struct {
	spans    []engine.Span
	strand   *strand
	segments []engine.Segment // so far
}

// judged is a channel's stretches, and what the quick model made of them.
type judged struct {
	stretches []*stretch
	next      int // the first one that is not judged yet

	sure, doubt *track
	believed    []engine.Segment
	language    string        // of these
	doubtful    []engine.Span // of the other stretches
}

// judge divides each channel into stretches, and gives it its tracks: those of the
// quick model before all of the careful one's.
func (p *prepared) judge(h *hearing) []*judged {
	channels := make([]*judged, len(p.channels))
	for c, spans := range p.channels {
		channels[c] = &judged{sure: h.track()}
		from := 0
		for i := range spans {
			if i+1 == len(spans) || spans[i+1].Overlap == 0 {
				channels[c].stretches = append(channels[c].stretches, &stretch{spans: spans[from : i+1]})
				from = i + 1
			}
		}
	}
	for _, j := range channels {
		j.doubt = h.track()
	}
	return channels
}

// roundingSlack is by how much a segment may start before its window, in seconds: whisper rounds to hundredths.
const roundingSlack = 0.01

// settle judges the stretches that have been heard, in order.
func (j *judged) settle(model string, apart bool) {
	j.sure.from = math.Inf(1)
	for ; j.next < len(j.stretches); j.next++ {
		s := j.stretches[j.next]
		segments, from := s.strand.Settled()
		s.segments = append(s.segments, segments...)
		if !math.IsInf(from, 1) {
			j.sure.from = from
			break
		}
		if !isSure(s.segments) {
			j.doubtful = append(j.doubtful, s.spans...)
			continue
		}
		j.language = s.strand.Result().Language
		for _, segment := range s.segments {
			segment = s.strand.sign(segment, apart, model)
			j.sure.waiting = append(j.sure.waiting, segment)
			j.believed = append(j.believed, segment)
		}
	}
	j.doubt.from = j.sure.from
	if len(j.doubtful) > 0 {
		j.doubt.from = min(j.doubt.from, seconds(j.doubtful[0].Start)-roundingSlack)
	}
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
