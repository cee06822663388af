package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"hark/batcher"
	"hark/engine"
	"hark/live"
)

// liveTranscriber has a session's pieces transcribed, each as a request of its caller among all others.
type liveTranscriber struct {
	server *Server
	caller string
}

// Transcribe implements live.Transcriber. Partial hypotheses are greedy and tried once; they are not charged to the
// caller, who has not sent their sound again.
func (t *liveTranscriber) Transcribe(ctx context.Context, r live.Request) (*engine.Result, error) {
	o := r.Text.Options
	if r.Partial {
		o.Draft, o.Temperatures, o.LogProbs = true, []float32{0}, false
	}
	s := t.server
	if info, ok := s.models.Known(r.Text.Model); ok && !info.Prompts {
		o.Prompt = "" // which the model takes none of
	}
	done, err := s.transcriber.Transcribe(ctx, Input{Model: r.Text.Model, Samples: r.Samples,
		Options: o, Caller: t.caller})
	if errors.Is(err, batcher.ErrQueueFull) {
		return nil, fmt.Errorf("%w: %w", live.ErrBusy, err)
	}
	if err != nil {
		return nil, err
	}
	if !r.Partial {
		s.charge(t.caller, sampleTime(len(r.Samples)))
		s.metrics.countTranscript(done)
	}
	return done.Result, nil
}

// liveSession is what settings mean for a session.
func (s *Server) liveSession(v *liveSettings) (live.Settings, error) {
	return v.session(s.resolve)
}

// warmLive loads a model that a session will soon use.
func (s *Server) warmLive(name string) {
	if name == AutoModel {
		return // its models are loaded one after the other, as there is memory
	}
	if q, err := s.transcriber.queue(s.cutCtx, name); err == nil {
		q.Release()
	}
}

// liveTally counts what a session did, for its log line and the metrics.
type liveTally struct {
	metrics *metrics
	id      string // the session's

	mu       sync.Mutex
	reason   string
	heard    time.Duration
	turns    int
	failed   int
	partials int
	first    time.Duration // until a turn's first text, of all firsts together
	firsts   int
}

// TurnDone implements live.Observer.
func (t *liveTally) TurnDone(final time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turns++
	if err != nil {
		t.failed++
		t.metrics.liveTurns.WithLabelValues("failed").Inc()
		return
	}
	t.metrics.liveTurns.WithLabelValues("completed").Inc()
	t.metrics.liveFinalSeconds.Observe(final.Seconds())
}

// PartialDone implements live.Observer.
func (t *liveTally) PartialDone(o live.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.partials++
	t.metrics.livePartials.WithLabelValues(string(o)).Inc()
}

// FirstText implements live.Observer.
func (t *liveTally) FirstText(after time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first += after
	t.firsts++
	t.metrics.liveFirstSeconds.Observe(after.Seconds())
}

// end notes how the session ended, and how much sound it heard.
func (t *liveTally) end(reason string, heard time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reason, t.heard = reason, heard
	t.metrics.liveEnded.WithLabelValues(reason).Inc()
	t.metrics.liveAudioSeconds.Add(heard.Seconds())
}

// log adds the session to its request's line.
func (t *liveTally) log(line *zerolog.Event) *zerolog.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	line = line.Str("session", t.id).Str("ended", t.reason).Float64("audio_s", t.heard.Seconds()).
		Int("turns", t.turns).Int("failed_turns", t.failed).Int("partials", t.partials)
	if t.firsts > 0 {
		line = line.Float64("first_text_ms", inMillis(t.first/time.Duration(t.firsts)))
	}
	return line
}
