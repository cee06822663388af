package live

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	"hark/audioprep"
	"hark/engine"
)

// The time between tries of a piece while the Transcriber is busy.
const firstRetry, maxRetry = 250 * time.Millisecond, 4 * time.Second

// work transcribes, one request at a time, whole pieces first.
func (s *Session) work() {
	for {
		p, partial := s.next()
		switch {
		case p == nil:
			return
		case partial:
			s.guess(p)
		default:
			s.finish(p)
		}
	}
}

// next waits for a piece that is to be transcribed; nil: the session is closed.
func (s *Session) next() (p *piece, partial bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.ctx.Err() == nil {
		switch {
		case len(s.closed) > 0:
			return s.closed[0], false
		case s.worthGuessing():
			return s.open, true
		}
		s.news.Wait()
	}
	return nil, false
}

// worthGuessing reports whether it's time for a partial hypothesis of the open piece.
func (s *Session) worthGuessing() bool {
	p := s.open
	if p == nil || p.item.dead || s.settings.Text == nil || time.Now().Before(s.rest) {
		return false
	}
	heard, every := s.sound.end(), s.settings.Text.Every
	if p.item.text.Len() == 0 {
		every /= 2
	}
	return s.ear.Spoken() > p.start && heard-p.start <= maxPiece && heard-p.tried >= samples(every)
}

// guess makes a partial hypothesis of a piece that goes on, and shows what it settles.
func (s *Session) guess(p *piece) {
	s.mu.Lock()
	if s.open != p || s.settings.Text == nil {
		s.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.giveUp = cancel
	p.tried = s.sound.end()
	r := Request{Samples: s.sound.part(p.start, p.tried), Text: s.text(p), Partial: true}
	s.mu.Unlock()

	begin := time.Now()
	result, err := s.transcriber.Transcribe(ctx, r)
	took := time.Since(begin)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveUp = nil
	s.rest = time.Now().Add(took)
	switch {
	case s.open != p:
		s.observer.PartialDone(Given)
	case err != nil:
		s.observer.PartialDone(Impeded)
	case !credible(result, len(r.Samples)):
		s.observer.PartialDone(Same)
	default:
		s.observer.PartialDone(s.show(p, p.draft.hear(textOf(result))))
	}
}

const (
	// maxCompression is how often a text may repeat itself: Whisper's
	// compression_ratio_threshold (openai/whisper, transcribe.py).
	maxCompression = 2.4
	// Speech of doubtSamples and more makes tiny.en surer than minLogProb unless it is lost: drafts of the first
	// seconds of the sample have -1 to -0.6, later ones -0.4 to -0.2.
	doubtSamples = 4 * audioprep.SampleRate
	minLogProb   = -0.6
)

// credible reports whether a partial hypothesis of so many samples is worth looking at. A whole piece is heard
// again where a model is unsure, this isn't.
func credible(result *engine.Result, samples int) bool {
	for i := range result.Segments {
		s := &result.Segments[i]
		if s.CompressionRatio > maxCompression || samples >= doubtSamples && s.AvgLogProb < minLogProb {
			return false
		}
	}
	return true
}

// show tells text of an item.
func (s *Session) show(p *piece, text string) Outcome {
	first := p.item.text.Len() == 0
	if text = p.item.add(text); text == "" {
		return Same
	}
	if first && !p.item.whole && s.settings.Turns != nil {
		s.observer.FirstText(time.Since(p.item.spoken))
	}
	s.emit(Delta{p.item.id, text})
	return Shown
}

// text says how a piece is transcribed. Whoever began to speak a language goes on in it.
func (s *Session) text(p *piece) Text {
	t := *s.settings.Text
	if t.Options.Language == "" {
		t.Options.Language = p.item.language
	}
	return t
}

// finish transcribes a whole piece.
func (s *Session) finish(p *piece) {
	s.mu.Lock()
	if s.settings.Text == nil { // switched off meanwhile
		s.end(p, &engine.Result{})
		s.mu.Unlock()
		return
	}
	r := Request{Samples: p.samples, Text: s.text(p)}
	s.mu.Unlock()

	result, err := s.insist(r)

	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
	case err != nil:
		s.fail(p.item, err)
	default:
		s.end(p, result)
	}
	s.news.Broadcast()
}

// insist transcribes, again and again while the Transcriber is busy.
func (s *Session) insist(r Request) (*engine.Result, error) {
	until := time.Now().Add(s.limits.Patience)
	for wait := firstRetry; ; wait = min(2*wait, maxRetry) {
		result, err := s.transcriber.Transcribe(s.ctx, r)
		if !errors.Is(err, ErrBusy) || time.Now().Add(wait).After(until) {
			return result, err
		}
		select {
		case <-time.After(wait):
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		}
	}
}

// end takes the last hypothesis of a piece.
func (s *Session) end(p *piece, result *engine.Result) {
	it := p.item
	if it.dead {
		return
	}
	s.closed = s.closed[1:]
	it.pieces--
	text := textOf(result)
	rest := p.draft.end(text)
	if it.language == "" {
		it.language = result.Language
	}
	s.show(p, rest)
	for i := range result.Segments {
		it.spelling = append(it.spelling, result.Segments[i].Spelling...)
	}
	for _, segment := range p.settle(result, text, rest) {
		segment.Number = it.segments
		it.segments++
		s.emit(segment)
	}
	if it.whole && it.pieces == 0 {
		s.observer.TurnDone(time.Since(it.ended), nil)
		s.emit(Completed{it.id, it.text.String(), it.language, seconds(it.length), it.spelling})
	}
}

// fail ends an item without a transcript. If it isn't whole yet, it goes on unheard.
func (s *Session) fail(it *item, err error) {
	if it.dead {
		return
	}
	it.dead = true
	s.drop(it)
	s.observer.TurnDone(time.Since(it.ended), err)
	s.emit(Failed{it.id, err})
}

// textOf is a hypothesis as text, without space at its end. What isn't valid UTF-8 in it goes.
func textOf(result *engine.Result) string {
	var b strings.Builder
	for i := range result.Segments {
		segment := &result.Segments[i]
		segment.Text = strings.ToValidUTF8(segment.Text, "")
		b.WriteString(segment.Text)
	}
	return strings.TrimRightFunc(b.String(), unicode.IsSpace)
}
