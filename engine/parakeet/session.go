package parakeet

import (
	"context"
	"errors"
	"sync"

	"hark/engine"
)

// session is one batch on the device. Windows wait for a place, are encoded, decoded beside each other, and give
// their place to the next when they end.
//
// Decoding goes in rounds, so that the prediction network, whose weights are most of the decoder's, is run as seldom as
// can be (NeMo's "label looping"): the joint network is asked about frame after frame until every window has found its
// next piece or its end; then all the pieces are told to the prediction network at once. A device that can decode ahead
// of its host does without rounds: see ahead.go.
type session struct {
	m       *Model
	more    func(free int) []engine.Window
	done    func(w engine.Window, err error)
	waiting []*window
	active  []*place
	free    []int // numbers of free places
}

// place is one window of the batch and what it holds on the device: the number-th part
// of frames, and of the decoder's slots.
type place struct {
	window *window
	number int
	search search // nil: not encoded yet
	beam   bool
}

// Run implements [engine.Model]. A batch that the device has no room for runs again in halves.
func (m *Model) Run(ctx context.Context, batch []engine.Window, more func(free int) []engine.Window,
	done func(w engine.Window, err error)) {
	engine.RunFitting(ctx, m.runOnce, batch, more, done)
}

// runOnce is Run for a batch that fits.
func (m *Model) runOnce(ctx context.Context, batch []engine.Window, more func(free int) []engine.Window,
	done func(w engine.Window, err error)) {
	s := &session{m: m, more: more, done: done}
	for i := range m.info.MaxBatch {
		s.free = append(s.free, i)
	}
	s.queue(batch)
	err := s.run(ctx)
	if errors.Is(err, engine.ErrOutOfMemory) {
		m.shrink()
	}
	for _, p := range s.active {
		done(p.window, err)
	}
	for _, w := range s.waiting {
		done(w, err)
	}
}

// queue lets windows wait for a place.
func (s *session) queue(batch []engine.Window) {
	for _, w := range batch {
		own, ok := w.(*window)
		if !ok || own.job.model != s.m {
			s.done(w, errors.New("the window belongs to another model"))
			continue
		}
		s.waiting = append(s.waiting, own)
	}
}

// run goes on until no window is left. The windows that it leaves unfinished after an
// error are those still active or waiting.
func (s *session) run(ctx context.Context) error {
	for {
		s.admit()
		if len(s.active) == 0 {
			return nil
		}
		if err := s.encode(ctx); err != nil {
			return err
		}
		goOn := s.round
		if s.canRunAhead() {
			goOn = s.runAhead
		}
		if err := goOn(ctx); err != nil {
			return err
		}
		s.leave()
	}
}

// joinable reports whether a window is waiting that has a place. If none is waiting it asks for more.
func (s *session) joinable() bool {
	if len(s.waiting) == 0 && s.more != nil && len(s.free) > 0 {
		s.queue(s.more(len(s.free)))
	}
	return len(s.waiting) > 0 && len(s.free) > 0
}

// admit gives waiting windows their places, in order, and asks for more of them as long as there are any left.
func (s *session) admit() {
	for s.joinable() {
		w := s.waiting[0]
		s.waiting = s.waiting[1:]
		if w.dropped.Load() {
			s.done(w, context.Canceled)
			continue
		}
		s.active = append(s.active, &place{window: w, number: s.free[0]})
		s.free = s.free[1:]
	}
}

// leave takes out the windows that have ended, and those that nobody waits for any more.
func (s *session) leave() {
	active := s.active[:0]
	for _, p := range s.active {
		dropped := p.window.dropped.Load()
		if !dropped && (p.search == nil || !p.search.ended()) {
			active = append(active, p)
			continue
		}
		s.free = append(s.free, p.number)
		if dropped {
			s.done(p.window, context.Canceled)
			continue
		}
		p.window.finish(p.search.tokens())
		s.done(p.window, nil)
	}
	s.active = active
}

// aheadSamples is how much sound the features are computed of at once: enough to keep some threads busy, in a
// few megabytes.
const aheadSamples = 120 * engine.SampleRate

// encode runs the encoder for the windows that have just joined and starts their searches.
func (s *session) encode(ctx context.Context) error {
	var fresh []*place
	samples := 0
	for _, p := range s.active {
		if p.search != nil || p.window.dropped.Load() {
			continue
		}
		if samples += len(p.window.samples); len(fresh) > 0 && samples > aheadSamples {
			if err := s.encodeAll(ctx, fresh); err != nil {
				return err
			}
			fresh, samples = fresh[:0], len(p.window.samples)
		}
		fresh = append(fresh, p)
	}
	return s.encodeAll(ctx, fresh)
}

// encodeAll computes features, side by side, unless the device does, and then encodes them, a group at a time.
func (s *session) encodeAll(ctx context.Context, fresh []*place) error {
	items := make([]sound, len(fresh))
	var work sync.WaitGroup
	for i, p := range fresh {
		work.Go(func() { items[i] = s.m.sound(p.window) })
	}
	work.Wait()
	for len(fresh) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, rows := s.m.enc.cut(items)
		if err := s.encodeGroup(fresh[:n], items[:n], rows); err != nil {
			return err
		}
		fresh, items = fresh[n:], items[n:]
	}
	return nil
}

// encodeGroup encodes windows and puts their frames, rows of them together, into their places.
func (s *session) encodeGroup(group []*place, items []sound, rows int) error {
	m := s.m
	encoded, err := m.staging.tensor(rows, m.frames.Cols)
	if err != nil {
		return err
	}
	if err := m.enc.encode(encoded, items); err != nil {
		return err
	}
	var to []int32
	for i, p := range group {
		frames := m.enc.frames(items[i].frames)
		for f := range frames {
			to = append(to, int32(p.number*m.maxFrames+f))
		}
		p.begin(m, frames)
	}
	m.dev.Scatter(m.frames, encoded, to)
	return nil
}

// begin starts the search over a number of frames.
func (p *place) begin(m *Model, frames int) {
	job := p.window.job
	first := int32(p.number * m.placeSlots)
	m.dec.begin(first)
	for _, id := range p.window.context() {
		m.dec.advance([]int32{id}, []int32{first})
	}
	p.window.encoded()
	if job.beam == 1 {
		p.search = &greedy{steps: &m.dec.steps, slot: first, frames: frames}
		return
	}
	slots := make([]int32, m.placeSlots)
	for i := range slots {
		slots[i] = first + int32(i)
	}
	p.search, p.beam = newBeam(&m.dec.steps, job.beam, frames, job.boost, slots), true
}

// round lets every window find its next piece, and tells the prediction network.
func (s *session) round(ctx context.Context) error {
	for asked := true; asked; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if asked, err = s.look(); err != nil {
			return err
		}
	}
	var steps []prediction
	for _, p := range s.active {
		if p.search != nil {
			steps = p.search.predictions(steps)
		}
	}
	if len(steps) > 0 {
		s.m.dec.predict(steps)
	}
	return nil
}

// look asks the joint network what the searches want to know, once. It reports whether there was anything.
func (s *session) look() (asked bool, err error) {
	var looks []look
	var asking []*place
	var ends []int // of each place's looks
	beams, width := 0, 0
	for _, beam := range []bool{false, true} { // all beams last
		for _, p := range s.active {
			if p.search == nil || p.beam != beam {
				continue
			}
			at := len(looks)
			looks = p.search.looks(looks)
			if at == len(looks) {
				continue
			}
			for i := range looks[at:] {
				looks[at+i].frame += p.number * s.m.maxFrames
			}
			asking, ends = append(asking, p), append(ends, len(looks))
			if beam {
				beams, width = beams+len(looks)-at, max(width, p.window.job.beam)
			}
		}
	}
	if len(looks) == 0 {
		return false, nil
	}
	answers, err := s.m.dec.ask(s.m.frames, looks, beams, candidates(width))
	if err != nil {
		return false, err
	}
	at := 0
	for i, p := range asking {
		p.search.take(answers[at:ends[i]])
		at = ends[i]
	}
	return true, nil
}
