package parakeet

import (
	"context"

	"hark/engine"
)

// canRunAhead reports whether the device may go on with all active windows by itself: it can, and none keeps a beam,
// whose hypotheses the host must compare. What is heard is the same either way.
func (s *session) canRunAhead() bool {
	if s.m.ahead == nil {
		return false
	}
	for _, p := range s.active {
		if p.beam {
			return false
		}
	}
	return true
}

// runAhead lets the device go on with all active windows by itself, until one of them ends or another is to join.
// There are no rounds: each step tells the prediction network what was found last, of the windows that found
// anything, and looks at each window's next frame.
func (s *session) runAhead(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var going []*greedy
	var list []engine.Utterance
	for _, p := range s.active {
		if g, ok := p.search.(*greedy); ok && !g.ended() {
			going, list = append(going, g), append(list, g.utterance(p.number*s.m.maxFrames))
		}
	}
	rows := make([]int32, len(list)) // the device has its own
	return s.m.ahead.Transduce(list, s.m.dec.transducer(), func(dev engine.Device) engine.Tensor {
		graph := *s.m.dec
		graph.dev = dev
		graph.advance(rows, rows)
		return graph.joint(s.m.frames, rows, rows)
	}, func(peaks []engine.Peak) bool {
		goOn := ctx.Err() == nil && !s.disturbed()
		for i, a := range s.m.dec.answers(peaks) {
			if g := going[i]; !g.ended() {
				g.due = false // it was told in this step
				g.take([]answer{a})
				goOn = goOn && !g.ended()
			}
		}
		return goOn
	})
}

// disturbed reports whether a window is to leave or to join.
func (s *session) disturbed() bool {
	for _, p := range s.active {
		if p.window.dropped.Load() {
			return true
		}
	}
	return s.joinable()
}

// transducer is what the joint network's logits mean.
func (d *decoder) transducer() engine.Transducer {
	return engine.Transducer{Blank: d.steps.blank, Durations: d.steps.durations,
		MostSymbols: d.steps.maxSymbols, Power: confidencePower}
}

// utterance is where the search has got to, its first frame lying in a row. Of its
// window's slots only the first is in use.
func (g *greedy) utterance(first int) engine.Utterance {
	u := engine.Utterance{Frame: int32(first + g.at), End: int32(first + g.frames), State: g.slot,
		Spare: g.slot + 1, Piece: -1}
	n := len(g.written)
	if g.due {
		u.Piece = g.written[n-1].id
	}
	if n > 0 && g.written[n-1].frame == g.at {
		u.Symbols = int32(g.symbols)
	}
	return u
}
