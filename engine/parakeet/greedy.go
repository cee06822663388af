package parakeet

import "math"

// greedy takes the likeliest piece and the likeliest duration at every step (NeMo's "greedy_batch").
type greedy struct {
	*steps
	slot   int32 // of the prediction network's state
	frames int   // in the window

	at      int // frame to look at next; it may lie beyond the last one
	written []token
	symbols int  // how many tokens the last one's frame gave
	due     bool // the last token has to be told to the prediction network
}

func (g *greedy) predictions(dst []prediction) []prediction {
	if g.due {
		g.due = false
		dst = append(dst, prediction{g.written[len(g.written)-1].id, g.slot, g.slot})
	}
	return dst
}

func (g *greedy) looks(dst []look) []look {
	if g.due || g.ended() {
		return dst
	}
	return append(dst, look{frame: g.at, slot: g.slot})
}

func (g *greedy) take(answers []answer) {
	a := &answers[0]
	duration := g.durations[a.duration.ID]
	nothing := !(float64(a.piece.LogProb) > math.Inf(-1)) // not even a number
	if a.piece.ID == g.blank || nothing {
		g.at += max(duration, 1) // a blank never stays
		return
	}
	g.symbols++
	if n := len(g.written); n == 0 || g.written[n-1].frame != g.at {
		g.symbols = 1
	}
	g.written = append(g.written, token{
		id: a.piece.ID, frame: g.at, duration: duration,
		logProb: a.piece.LogProb, confidence: confidence(a.piece.PowerSum, int(g.blank)+1),
	})
	g.due = true
	g.at += duration
	if duration == 0 && g.symbols >= g.maxSymbols {
		g.at++
	}
}

func (g *greedy) ended() bool { return g.at >= g.frames }

func (g *greedy) tokens() []token { return g.written }
