package whisper

import (
	"context"

	"hark/engine"
)

// canRunAhead reports whether the device may go on with all active windows by itself: it can, none of them is to
// begin with its prompt, and none keeps a beam, whose hypotheses change places at each step. A window's tokens are
// the same either way.
func (s *session) canRunAhead() bool {
	if s.m.ahead == nil {
		return false
	}
	for _, p := range s.active {
		if p.search.fresh() || p.search.beam > 1 {
			return false
		}
	}
	return true
}

// runAhead lets the device go on with all active windows by itself, until one of them ends or another is to join, and
// settles those that have ended.
func (s *session) runAhead(ctx context.Context) error {
	var rows []row
	var texts []engine.Continuation
	for _, p := range s.active {
		rows = p.search.rows(rows, p.window)
		texts = append(texts, p.search.continuation())
	}
	ended := make([]bool, len(s.active))
	var done []*place
	err := s.m.ahead.Ahead(texts, func(dev engine.Device) engine.Tensor {
		graph := s.m.dec.on(dev)
		graph.forward(rows, false, nil)
		return graph.firstLogits(len(rows))
	}, func(choices []engine.Choice) bool {
		for i, p := range s.active {
			if !ended[i] && p.search.advanceOne(choices[i]) {
				ended[i], done = true, append(done, p)
			}
		}
		return len(done) == 0 && ctx.Err() == nil && !s.disturbed()
	})
	if err != nil {
		return err
	}
	return s.settleAll(done)
}

// disturbed reports whether a window is to leave or to join.
func (s *session) disturbed() bool {
	for _, p := range s.active {
		if p.own.dropped.Load() {
			return true
		}
	}
	return s.joinable()
}

// continuation is the search's one hypothesis as a device goes on with it, once there is a token.
func (s *search) continuation() engine.Continuation {
	h := &s.live[0]
	n := len(h.written)
	c := engine.Continuation{
		Written: h.written, Place: engine.CacheRow{Slot: h.slot, Position: int32(len(s.prompt) + n - 1)},
		Rule: s.rules.next(h.written, s.timestamps),
		End:  s.rules.v.endOfText, Room: s.limit - n,
	}
	if s.timestamps {
		c.FirstTimestamp = s.rules.v.firstTimestamp
	}
	if s.temperature > 0 {
		c.Rule.Temperature, c.Uniforms = s.temperature, s.draws(c.Room)
	}
	return c
}
