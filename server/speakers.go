package server

import (
	"strconv"

	"hark/audioprep"
	"hark/engine"
)

// series is several jobs whose windows are one request's: one for each channel that is
// heard by itself, or for each stretch.
type series struct {
	hearing    *hearing
	model      engine.ModelInfo
	audio      *audioprep.PCM
	strands    []*strand
	sequential bool
	at         int // the first that may have more windows
}

// strand is one job of a series.
type strand struct {
	engine.Job
	channel int
	// settle takes over what has become final in it.
	settle func()
}

// add plans a job, gives it back what is known of its windows, and says what is left to
// be paid for, out of a number of samples.
func (s *series) add(model engine.Model, channel int, spans []engine.Span, o engine.Options,
	samples int) (p *strand, cost int64, err error) {
	job, err := model.NewJob(s.audio.Channels[channel], spans, o)
	if err != nil || len(spans) == 0 {
		return nil, 0, err
	}
	start, end := spans[0].Start, spans[len(spans)-1].End
	if o.Sequential {
		start, end = 0, len(s.audio.Channels[channel])
	}
	p = &strand{Job: job, channel: channel}
	job.Restore(s.hearing.restored(s.model.Name, channel, start, end))
	s.strands = append(s.strands, p)
	done, _ := job.Progress()
	return p, millis(max(0, samples-done)), nil
}

// Next hands out the windows of one job after the other. A sequential job's next window comes when the last one has
// run: what it hands out ends a batch's worth.
func (s *series) Next(max int) []engine.Window {
	var windows []engine.Window
	for s.at < len(s.strands) && len(windows) < max {
		p := s.strands[s.at]
		more := p.Next(max - len(windows))
		for _, w := range more {
			windows = append(windows, &heldWindow{w, s.audio, func(w engine.Window, err error) { s.ended(p, w, err) }})
		}
		if len(more) == 0 {
			s.at++
		} else if s.sequential {
			break
		}
	}
	return windows
}

// ended is told of every window that has run.
func (s *series) ended(p *strand, w engine.Window, err error) {
	h := s.hearing
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || err != nil {
		return
	}
	h.keep(s.model.Name, p, w)
	p.settle()
	h.merge()
}

// settle takes over what is known before any window runs, or when all have.
func (s *series) settle() {
	s.hearing.mu.Lock()
	defer s.hearing.mu.Unlock()
	for _, p := range s.strands {
		p.settle()
	}
	s.hearing.merge()
}

// Progress is that of all jobs together.
func (s *series) Progress() (done, total int) {
	for _, p := range s.strands {
		d, t := p.Progress()
		done, total = done+d, total+t
	}
	return done, total
}

// language is that of most of the speech.
func (s *series) language() (language string) {
	spoken := map[string]float64{}
	for _, p := range s.strands {
		r := p.Result()
		spoken[r.Language] += speech(r)
		if language == "" || spoken[r.Language] > spoken[language] {
			language = r.Language
		}
	}
	return language
}

// settleTo takes over what its job has heard to a track, with the model's name if that is to be told.
func (p *strand) settleTo(t *track, apart bool, model string) func() {
	return func() {
		segments, from := p.Settled()
		t.from = from
		for _, s := range segments {
			t.waiting = append(t.waiting, p.sign(s, apart, model))
		}
	}
}

// sign notes whose a segment is.
func (p *strand) sign(s engine.Segment, apart bool, model string) engine.Segment {
	if apart {
		s.Speaker = strconv.Itoa(p.channel)
	}
	s.Model = model
	return s
}

// speech is how many seconds of a result are segments.
func speech(r *engine.Result) (s float64) {
	for _, segment := range r.Segments {
		s += segment.End - segment.Start
	}
	return s
}
