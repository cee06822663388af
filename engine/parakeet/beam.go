package parakeet

import (
	"math"
	"slices"
)

const (
	// maxBeam is the most hypotheses that are kept for a frame.
	maxBeam = 8
	// maxBehind is how far a hypothesis may lie behind the best one of any frame, as a log-probability, and still be
	// followed. Where the model is sure of itself, that leaves few.
	maxBehind = 10
)

// beam follows several hypotheses through a window, frame by frame. Steps of different durations part hypotheses in
// time; those that meet at a frame compete there, and the best of them are kept. Where two have the same text they are
// one: their probabilities add up, since they are ways of saying the same. A hypothesis' log-probability is that of its
// pieces and blanks, each among all pieces, and of its durations, each among all durations.
type beam struct {
	*steps
	width  int
	boost  *booster // nil: there are no keywords
	frames int      // in the window

	live     []hypothesis         // at the frame that is looked at
	behind   float64              // maxBehind
	least    float64              // what a hypothesis must rank at
	at       int                  // that frame
	waiting  map[int][]hypothesis // at the frames from there on
	finished []hypothesis         // beyond the last frame
	free     []int32              // slots for states
}

// hypothesis is a text and how it got to a frame.
type hypothesis struct {
	text *text
	// sum is the log-probability of all ways to say the text that were followed, best that of the likeliest one,
	// which said tells.
	sum, best float64
	said      *saying
	symbols   int // pieces that the frame has given
}

// rank is what hypotheses are compared by.
func (h *hypothesis) rank() float64 { return h.sum + h.text.bonus }

// saying is a token and what was said before.
type saying struct {
	before *saying
	token
}

// text is what a hypothesis has written, as a node in the tree of all texts of a window. Its state of the prediction
// network is computed when it's first needed, from that of the text before.
type text struct {
	before *text
	next   map[int32]*text
	last   int32 // the piece that it adds to the text before
	users  int   // hypotheses, and next texts without a state
	slot   int32 // -1: no state
	state  int32 // of the booster
	bonus  float64
}

// beamSlots is how many states a beam holds at most: those of the hypotheses of all frames that a step can reach, and
// of the ones being looked at, and as many on their way.
func beamSlots(durations []int, width int) int { return width * (max(1, slices.Max(durations)) + 3) }

// candidates is how many pieces a beam tries for each hypothesis: as many as it keeps, and the blank.
func candidates(width int) int { return width + 1 }

// newBeam starts a beam. The first of the slots holds the state that every text starts from.
func newBeam(s *steps, width, frames int, boost *booster, slots []int32) *beam {
	b := &beam{steps: s, width: width, boost: boost, frames: frames, waiting: map[int][]hypothesis{}, free: slots[1:],
		behind: maxBehind, least: -maxBehind}
	start := hypothesis{text: &text{slot: slots[0], users: 1}}
	if frames > 0 {
		b.live = []hypothesis{start}
	} else {
		b.finished = []hypothesis{start}
	}
	return b
}

func (b *beam) predictions(dst []prediction) []prediction {
	var begun []*text
	for i := range b.live {
		t := b.live[i].text
		if t.slot >= 0 {
			continue
		}
		t.slot, b.free = b.free[0], b.free[1:]
		dst = append(dst, prediction{t.last, t.before.slot, t.slot})
		begun = append(begun, t.before)
	}
	for _, t := range begun {
		b.release(t)
	}
	return dst
}

func (b *beam) looks(dst []look) []look {
	for i := range b.live {
		if b.live[i].text.slot < 0 {
			return dst
		}
	}
	for i := range b.live {
		t := b.live[i].text
		l := look{frame: b.at, slot: t.slot}
		if b.boost != nil {
			l.ids = b.boost.expected(t.state)
		}
		dst = append(dst, l)
	}
	return dst
}

func (b *beam) take(answers []answer) {
	live := b.live
	b.live = nil
	for i := range live {
		b.extend(&live[i], &answers[i])
	}
	for i := range live {
		b.release(live[i].text)
	}
	b.next()
}

// next goes to the first frame where hypotheses wait that are not too far behind.
func (b *beam) next() {
	best := math.Inf(-1)
	for _, list := range b.waiting {
		best = max(best, bestRank(list))
	}
	b.least = max(best, bestRank(b.finished)) - b.behind
	for ; len(b.waiting) > 0; b.at++ {
		for _, h := range b.waiting[b.at] {
			if h.rank() >= b.least {
				b.live = append(b.live, h)
			} else {
				b.release(h.text)
			}
		}
		delete(b.waiting, b.at)
		if len(b.live) > 0 {
			return
		}
	}
}

func bestRank(list []hypothesis) float64 {
	best := math.Inf(-1)
	for i := range list {
		best = max(best, list[i].rank())
	}
	return best
}

func (b *beam) ended() bool { return len(b.live) == 0 }

// extend takes a hypothesis on by every step that is likely, or that keywords ask for.
func (b *beam) extend(h *hypothesis, a *answer) {
	// A wider beam beside this one may have asked for more.
	best := a.best.IDs[:min(len(a.best.IDs), candidates(b.width))]
	for i, id := range best {
		b.write(h, a, id, a.best.LogProbs[i])
	}
	if b.boost == nil {
		return
	}
	for i, id := range b.boost.expected(h.text.state) {
		if p := a.probabilities[i]; p > 0 && !slices.Contains(best, id) {
			b.write(h, a, id, float32(math.Log(float64(p))))
		}
	}
}

// write takes a hypothesis on by a piece or the blank, with each duration.
func (b *beam) write(h *hypothesis, a *answer, id int32, logProb float32) {
	next := h.text
	if id != b.blank {
		next = b.child(h.text, id)
	}
	for i, duration := range b.durations {
		p := float64(logProb) + float64(a.durations[i])
		n := hypothesis{text: next, sum: h.sum + p, best: h.best + p, said: h.said, symbols: h.symbols}
		to := b.at + duration
		if id == b.blank {
			to = b.at + max(duration, 1) // a blank never stays
		} else if n.symbols++; duration == 0 && n.symbols >= b.maxSymbols {
			to++
		}
		if to > b.at {
			n.symbols = 0
		}
		list := b.waiting[to]
		if to >= b.frames {
			list = b.finished
		}
		place := b.place(list, &n)
		if place < 0 {
			continue
		}
		if id != b.blank {
			n.said = &saying{h.said, token{id, b.at, duration, logProb, confidence(a.piece.PowerSum, int(b.blank)+1)}}
		}
		list = b.put(list, place, n)
		if to >= b.frames {
			b.finished = list
		} else {
			b.waiting[to] = list
		}
	}
}

// child is a text and one piece more. It joins the tree when a hypothesis is put at a frame.
func (b *beam) child(t *text, id int32) *text {
	if c := t.next[id]; c != nil {
		return c
	}
	c := &text{before: t, last: id, slot: -1, bonus: t.bonus}
	if b.boost != nil {
		var gain float64
		c.state, gain = b.boost.step(t.state, id)
		c.bonus += gain
	}
	return c
}

// place is where a hypothesis belongs among those at its frame: with the one of the same text, behind the last one
// while there is room, or in place of the worst; -1 if it's worse than all.
func (b *beam) place(list []hypothesis, h *hypothesis) int {
	if !(h.rank() >= b.least) { // nor a number
		return -1
	}
	worst := 0
	for i := range list {
		if list[i].text == h.text {
			return i
		}
		if list[i].rank() < list[worst].rank() {
			worst = i
		}
	}
	if len(list) < b.width {
		return len(list)
	}
	if h.rank() > list[worst].rank() {
		return worst
	}
	return -1
}

// put puts a hypothesis in its place.
func (b *beam) put(list []hypothesis, place int, h hypothesis) []hypothesis {
	switch {
	case place == len(list):
		b.hold(h.text)
		return append(list, h)
	case list[place].text == h.text:
		list[place].join(&h)
	default:
		b.hold(h.text)
		b.release(list[place].text)
		list[place] = h
	}
	return list
}

// join adds another way to say the same.
func (h *hypothesis) join(o *hypothesis) {
	low, high := min(h.sum, o.sum), max(h.sum, o.sum)
	h.sum = high + math.Log1p(math.Exp(low-high))
	if o.best > h.best {
		h.best, h.said, h.symbols = o.best, o.said, o.symbols
	}
}

// hold counts a user of a text. One without a state needs that of the text before.
func (b *beam) hold(t *text) {
	if t.users++; t.users > 1 || t.before == nil {
		return
	}
	b.hold(t.before)
	if t.before.next == nil {
		t.before.next = map[int32]*text{}
	}
	t.before.next[t.last] = t
}

// release takes a user of a text away; with the last one its state goes.
func (b *beam) release(t *text) {
	if t.users--; t.users > 0 {
		return
	}
	if t.slot >= 0 {
		b.free, t.slot = append(b.free, t.slot), -1
		return
	}
	delete(t.before.next, t.last)
	b.release(t.before)
}

// result is the best hypothesis at the end, without what unfinished keywords lent it; nil if there is none.
func (b *beam) result() *hypothesis {
	var best *hypothesis
	most := 0.0
	for i := range b.finished {
		h := &b.finished[i]
		rank := h.rank()
		if b.boost != nil {
			rank -= b.boost.open(h.text.state)
		}
		if best == nil || rank > most {
			best, most = h, rank
		}
	}
	return best
}

func (b *beam) tokens() []token {
	var all []token
	if h := b.result(); h != nil {
		for s := h.said; s != nil; s = s.before {
			all = append(all, s.token)
		}
	}
	slices.Reverse(all)
	return all
}
