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

// pair is a use of the two models.
type pair struct{ quick, careful *modelQueue }

func (p *pair) release() {
	for _, q := range []*modelQueue{p.quick, p.careful} {
		if q != nil {
			q.Release()
		}
	}
}

// pair returns a use of the first Parakeet and of the first Whisper that are served.
func (t *Transcriber) pair(ctx context.Context) (*pair, error) {
	p := &pair{}
	for _, name := range t.cfg.Auto {
		q, err := t.queue(ctx, name)
		if err != nil {
			p.release()
			return nil, err
		}
		switch family := q.Model().Info().Family; {
		case family == "parakeet" && p.quick == nil:
			p.quick = q
		case family == "whisper" && p.careful == nil:
			p.careful = q
		default:
			q.Release()
		}
	}
	if p.quick == nil || p.careful == nil {
		p.release()
		return nil, errNoPair
	}
	return p, nil
}

// transcribeAuto has two models transcribe an input together.
func (t *Transcriber) transcribeAuto(ctx context.Context, in Input) (*Transcript, error) {
	models, err := t.pair(ctx)
	if err != nil {
		return nil, err
	}
	defer models.release()
	info := models.careful.Model().Info()
	info.MaxWindowSamples = min(info.MaxWindowSamples, models.quick.Model().Info().MaxWindowSamples)
	p, tr, err := t.open(ctx, in, info)
	if err != nil {
		return nil, err
	}
	tr.Model.Name = AutoModel
	tr.Result, err = t.hearTwice(ctx, models, in, p, tr)
	p.close()
	if err != nil {
		return nil, err
	}
	return tr, nil
}

// hearTwice has the quick model hear everything that it can, and the careful one what is left.
func (t *Transcriber) hearTwice(ctx context.Context, models *pair, in Input, p *prepared, tr *Transcript) (*engine.Result, error) {
	first := &engine.Result{}
	doubtful := p.channels
	if canHear(models.quick.Model().Info(), in.Options) {
		plain := in
		plain.Options.Prompt, plain.Options.Sequential = "", false // which only the other understands
		var err error
		if first, err = t.hear(ctx, models.quick, plain, p, tr); err != nil {
			return nil, err
		}
		first.Segments, doubtful = p.sure(first.Segments)
	}
	rest := &prepared{pcm: p.pcm, channels: doubtful}
	second, err := t.hear(ctx, models.careful, in, rest, tr)
	p.running = rest.running
	if err != nil {
		return nil, err
	}
	return join(first, models.quick, second, models.careful), nil
}

// canHear reports whether a model can do what is asked at all.
func canHear(info engine.ModelInfo, o engine.Options) bool {
	return o.Task == engine.Transcribe && !o.Sequential && (o.Language == "" || slices.Contains(info.Languages, o.Language))
}

// sure returns the segments of windows that the model was sure of, and the other windows, by channel.
func (p *prepared) sure(segments []engine.Segment) (kept []engine.Segment, doubtful [][]engine.Span) {
	doubtful = make([][]engine.Span, len(p.channels))
	for c, spans := range p.channels {
		for _, span := range spans {
			inside := spoken(segments, span, c, len(p.channels) > 1)
			if isSure(inside) {
				kept = append(kept, inside...)
				continue
			}
			span.Start += span.Overlap // what it shares with the window before is that one's
			span.Overlap = 0
			doubtful[c] = append(doubtful[c], span)
		}
	}
	return kept, doubtful
}

// spoken returns the segments whose middle lies in a window of a channel.
func spoken(segments []engine.Segment, span engine.Span, channel int, apart bool) []engine.Segment {
	from, to := seconds(span.Start+span.Overlap), seconds(span.End)
	var inside []engine.Segment
	for _, s := range segments {
		middle := (s.Start + s.End) / 2
		if middle >= from && middle < to && (!apart || s.Speaker == strconv.Itoa(channel)) {
			inside = append(inside, s)
		}
	}
	return inside
}

// isSure reports whether a window's text is to be believed. Speech without a text is not.
func isSure(segments []engine.Segment) bool {
	sum, tokens := 0.0, 0
	for _, s := range segments {
		sum += s.AvgLogProb * float64(len(s.Tokens))
		tokens += len(s.Tokens)
	}
	return tokens > 0 && sum/float64(tokens) >= minSureness
}

// join merges two results by time and notes whose each segment is. The language is that of the model that had more to say.
func join(first *engine.Result, quick *modelQueue, second *engine.Result, careful *modelQueue) *engine.Result {
	all := &engine.Result{Language: second.Language}
	if speech(first) > speech(second) && first.Language != "" {
		all.Language = first.Language
	}
	for _, part := range []struct {
		*engine.Result
		model *modelQueue
	}{{first, quick}, {second, careful}} {
		for _, s := range part.Segments {
			s.Model = part.model.Model().Info().Name
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
