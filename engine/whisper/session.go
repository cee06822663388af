package whisper

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"hark/engine"
)

// A window that is decoded again and again would keep its batch, and so its lane's turn, for as long as twenty others: the
// whole ladder of temperatures over a text that repeats itself takes 1344 tokens, where speech has about 75 a window, and
// each pass over the rest of a window may climb it anew. So once as many tokens were spent on it as patience says,
// encoding counted as encodeTokens, it leaves between two tries or passes and goes on in a later batch. Whatever has
// three passes or two texts without an end is below that. Two tries in a batch pay for encoding the window once more.
const (
	patience     = 512
	encodeTokens = 64
)

// minLanguageProb is how sure a window but a job's first must be of another language.
const minLanguageProb = 0.5

// session is one batch on the device. Windows wait for a place, are encoded, decoded
// step by step beside each other, and give their place to the next when they end.
type session struct {
	m       *Model
	more    func(free int) []engine.Window
	done    func(w engine.Window, err error)
	waiting []*place
	active  []*place
	windows []int32 // free slots of the cross-attention cache
	slots   []int32 // free slots of the decoder's cache
}

// place is one window of the batch and what it holds on the device.
type place struct {
	own    *window
	chain  *chain
	window int32   // slot of the cross-attention cache
	slots  []int32 // slots of the decoder's cache

	encoded bool
	frames  int // that the encoder is shown in this pass, padding included; 0 until that is chosen
	rung    int // of the temperature ladder
	spent   int // in this batch, in tokens
	search  *search
	ended   bool
	err     error
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
	for i := range int32(m.dec.cross.Slots()) {
		s.windows = append(s.windows, i)
	}
	for i := range int32(m.dec.cache.Slots()) {
		s.slots = append(s.slots, i)
	}
	s.queue(batch)
	err := s.run(ctx)
	s.leave() // windows that ended in the step that failed have their results
	if errors.Is(err, engine.ErrOutOfMemory) {
		m.shrink()
	}
	for _, p := range append(s.active, s.waiting...) {
		done(p.own, err)
	}
}

// queue lets windows wait for a place.
func (s *session) queue(batch []engine.Window) {
	for _, w := range batch {
		own, ok := w.(*window)
		if !ok || own.chain.job.model != s.m {
			s.done(w, errors.New("the window belongs to another model"))
			continue
		}
		s.waiting = append(s.waiting, &place{own: own, chain: own.chain, frames: own.chain.frames, rung: own.chain.rung})
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
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.encode(); err != nil {
			return err
		}
		if err := s.step(ctx); err != nil {
			return err
		}
		s.leave()
	}
}

// joinable reports whether the first of the waiting windows has a place. If none is waiting it asks for more.
func (s *session) joinable() bool {
	if len(s.waiting) == 0 && s.more != nil && len(s.windows) > 0 && len(s.slots) > 0 {
		s.queue(s.more(len(s.windows)))
	}
	return len(s.waiting) > 0 && len(s.windows) > 0 && len(s.slots) >= s.waiting[0].needs()
}

// needs is how many slots of the decoder's cache a window needs.
func (p *place) needs() int { return max(1, p.chain.job.options.BeamSize) }

// admit gives waiting windows their places, in order, and asks for more of them as long as there are any left.
func (s *session) admit() {
	for s.joinable() {
		p := s.waiting[0]
		s.waiting = s.waiting[1:]
		if p.own.dropped.Load() {
			s.done(p.own, context.Canceled)
			continue
		}
		if p.chain.prepare(); p.chain.ended { // not a single frame
			s.done(p.own, nil)
			continue
		}
		p.window, s.windows = s.windows[0], s.windows[1:]
		need := p.needs()
		p.slots, s.slots = append([]int32(nil), s.slots[:need]...), s.slots[need:]
		s.active = append(s.active, p)
	}
}

// leave takes out the windows that have ended, and those that nobody waits for any more.
func (s *session) leave() {
	active := s.active[:0]
	for _, p := range s.active {
		if p.own.dropped.Load() {
			p.ended, p.err = true, context.Canceled
		}
		if !p.ended {
			active = append(active, p)
			continue
		}
		s.windows = append(s.windows, p.window)
		s.slots = append(s.slots, p.slots...)
		s.done(p.own, p.err)
	}
	s.active = active
}

// encode runs the encoder for the windows that start a pass, in groups of such as are
// seen alike, and starts their search.
func (s *session) encode() error {
	var fresh []*place
	for _, p := range s.active {
		if p.encoded {
			continue
		}
		if p.frames == 0 {
			p.frames = s.m.contextOf(p.chain)
		}
		fresh = append(fresh, p)
	}
	slices.SortStableFunc(fresh, func(a, b *place) int { return cmp.Compare(viewOf(a.frames), viewOf(b.frames)) })
	for len(fresh) > 0 {
		n := s.groupOf(fresh)
		if err := s.encodeGroup(fresh[:n]); err != nil {
			return err
		}
		fresh = fresh[n:]
	}
	return nil
}

// groupOf is how many windows, from the first on, make a group. Of short ones that is as many as are as long together
// as the whole ones that a device likes to have: alone they would leave much of a GPU idle.
func (s *session) groupOf(fresh []*place) int {
	v, keys := viewOf(fresh[0].frames), 0
	for i, p := range fresh {
		if keys += keysIn(p.frames); keys > s.m.enc.group || viewOf(p.frames) != v {
			return i
		}
	}
	return len(fresh)
}

// encodeGroup runs the encoder for windows that are seen alike, and starts their search.
func (s *session) encodeGroup(group []*place) error {
	m, v := s.m, viewOf(group[0].frames)
	if v == shortView {
		if err := m.learnRest(); err != nil {
			return err
		}
	}
	frames, err := m.features(group)
	if err != nil {
		return err
	}
	positions := m.enc.run(frames, v, nil)
	at := 0
	for _, p := range group {
		n := positionsIn(p.frames)
		m.dec.listen(p.window, positions.Slice(at, at+n), v)
		at += n
		if err := s.detect(p); err != nil {
			return err
		}
		p.chain.encoded()
		p.encoded = true
		p.spent += encodeTokens
		s.begin(p)
	}
	return nil
}

// detect finds the language of a chain that does not know it.
func (s *session) detect(p *place) error {
	c := p.chain
	if c.language != "" {
		return nil
	}
	code, prob, err := s.m.detectLanguage(p.window, p.slots[0], c.job.options.Languages)
	if err != nil {
		return err
	}
	if c.job.language == "" || c.job.first == c {
		c.job.language, c.job.first = code, c
	} else if prob < minLanguageProb {
		code = c.job.language
	}
	c.language = code
	return nil
}

// begin starts the search at the current rung of the temperature ladder.
func (s *session) begin(p *place) {
	o := &p.chain.job.options
	p.search = newSearch(s.m.rules, p.chain.prompt(), true, o.Temperatures[p.rung], max(1, o.BeamSize),
		p.slots, s.m.config.TextContext)
}

// step runs one token of every active window, the whole prompt for those that have just begun,
// in as few forward passes as their rows fit in. Where the device can it runs many.
func (s *session) step(ctx context.Context) error {
	if s.canRunAhead() {
		return s.runAhead(ctx)
	}
	left := s.active
	for len(left) > 0 {
		var rows []row
		n := 0
		for n < len(left) {
			more := left[n].search.rows(rows, left[n].window)
			if n > 0 && len(more) > maxRows {
				break
			}
			rows = more
			n++
		}
		if err := s.forward(left[:n], rows); err != nil {
			return err
		}
		left = left[n:]
	}
	return nil
}

// forward runs the rows of some windows and lets their searches choose.
func (s *session) forward(places []*place, rows []row) error {
	m := s.m
	m.dec.forward(rows, false, nil)

	var starts []int32 // rows of fresh windows' start of transcript
	var fresh []*search
	var last []int32
	var rules []engine.Rule
	candidates := 1
	at := 0
	for _, p := range places {
		count, live := p.search.count(), len(p.search.live)
		if p.search.fresh() {
			for i, id := range p.search.prompt {
				if id == m.vocabulary.startOfTranscript {
					starts, fresh = append(starts, int32(at+i)), append(fresh, p.search)
				}
			}
		}
		for i := range live { // a fresh one is followed by the last row of its prompt
			last = append(last, int32(at+count-live+i))
		}
		at += count
		rules = p.search.rule(rules)
		candidates = max(candidates, p.search.candidates())
	}
	if err := s.noSpeech(starts, fresh); err != nil {
		return err
	}
	choices, err := m.dev.Select(m.dec.logits(last), rules, candidates)
	if err != nil {
		return err
	}
	return s.choose(places, choices)
}

// noSpeech reads the probability that nothing is said, at the start of fresh windows' transcripts and
// before any rule.
func (s *session) noSpeech(starts []int32, fresh []*search) error {
	if len(starts) == 0 {
		return nil
	}
	rows, ids := make([]int32, len(starts)), make([]int32, len(starts))
	for i := range starts {
		rows[i], ids[i] = int32(i), s.m.vocabulary.noSpeech
	}
	probs, err := s.m.dev.TokenProbs(s.m.dec.logits(starts), rows, ids, s.m.config.Vocabulary)
	if err != nil {
		return err
	}
	for i, search := range fresh {
		search.noSpeech = float64(probs[i])
	}
	return nil
}

// choose hands the choices to the searches and settles those that are done.
func (s *session) choose(places []*place, choices []engine.Choice) error {
	var to, from []int32
	var lengths []int
	var done []*place
	for _, p := range places {
		n := len(p.search.live)
		own := choices[:n]
		choices = choices[n:]
		copies, ended := p.search.advance(own)
		if ended {
			done = append(done, p)
			continue // its hypotheses need no slots any more
		}
		for _, c := range copies {
			to, from, lengths = append(to, c.to), append(from, c.from), append(lengths, c.length)
		}
	}
	if len(to) > 0 {
		s.m.dev.CopySlots(s.m.dec.cache, to, from, lengths)
	}
	return s.settleAll(done)
}

// settleAll settles searches that are done.
func (s *session) settleAll(done []*place) error {
	for _, p := range done {
		if err := s.settle(p); err != nil {
			return err
		}
	}
	return nil
}

// settle takes a finished search: the next rung of the ladder, or the chain's next pass, or the window's end.
func (s *session) settle(p *place) error {
	out := p.search.outcome()
	text := s.m.vocabulary.decode(out.tokens)
	p.spent += len(out.tokens)
	if p.frames < framesPerWindow && !p.chain.job.options.Draft && p.chain.needsContext(&out, text) {
		p.frames, p.encoded = framesPerWindow, false
		if p.chain.passes == 0 {
			p.chain.language = p.chain.job.options.Language // what was detected is as doubtful as the text
		}
		return nil
	}
	temperatures := p.chain.job.options.Temperatures
	if p.rung+1 < len(temperatures) && !out.isSound(text) {
		p.rung++
		if !s.goesLater(p) {
			s.begin(p)
		}
		return nil
	}
	err := p.chain.accept(&out, text, func(text []int32) (alignment, error) {
		return s.m.align(p.window, p.slots[0], p.chain.language, p.chain.job.options.Task == engine.Translate, text,
			p.chain.size(), keysIn(p.frames))
	})
	if err != nil {
		return err
	}
	p.encoded, p.frames, p.rung, p.search = false, 0, 0, nil
	p.chain.frames, p.chain.rung = 0, 0
	p.ended = p.chain.ended || !p.own.whole || s.goesLater(p)
	return nil
}

// goesLater ends a window's part in the batch where enough was spent on it for now.
func (s *session) goesLater(p *place) bool {
	if s.m.patience == 0 || p.spent < s.m.patience {
		return false
	}
	p.chain.frames, p.chain.rung = p.frames, p.rung
	p.ended, p.err = true, engine.ErrUnfinished
	return true
}
