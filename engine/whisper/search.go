package whisper

import (
	"math/rand/v2"
	"sort"

	"hark/engine"
)

// maxBeam is the most hypotheses that a window may keep.
const maxBeam = 8

// hypothesis is one way that a transcript may go: what was written after the prompt,
// its summed log-probability, and the cache slot that holds its keys and values.
type hypothesis struct {
	written  []int32
	logProbs []float32 // of these
	sum      float64
	slot     int32
}

// search chooses the tokens of one pass over a window: greedily, by drawing at a
// temperature, or by beam. It's told what the device found and says what to run next.
type search struct {
	rules       *ruleset
	prompt      []int32
	timestamps  bool
	temperature float32
	random      *rand.Rand // draws at a temperature; the same for the same window, so that answers repeat
	drawn       []float32  // by random, for the next tokens
	beam        int        // 1: greedy, or drawn
	slots       []int32    // beam slots of the cache
	limit       int        // the most tokens written

	live, finished []hypothesis
	noSpeech       float64 // probability of no speech, by the first step
}

// outcome is the result of a search.
type outcome struct {
	tokens     []int32   // without the end of text
	logProbs   []float32 // of these
	avgLogProb float64   // the sum over the tokens and the end, by their number
	noSpeech   float64
	temp       float32
}

// slotCopy asks for the first length positions of a cache slot to be copied to another.
type slotCopy struct {
	to, from int32
	length   int
}

// newSearch starts a search from a prompt. textContext bounds prompt and text together; half of it
// is the most that is written (openai/whisper, decoding.py, sample_len).
func newSearch(r *ruleset, prompt []int32, timestamps bool, temperature float32, beam int, slots []int32,
	textContext int) *search {
	if temperature > 0 {
		beam = 1
	}
	s := &search{
		rules: r, prompt: prompt, timestamps: timestamps, temperature: temperature,
		beam: beam, slots: slots[:beam],
		limit: min(textContext/2, textContext-len(prompt)+1),
		live:  []hypothesis{{slot: slots[0]}},
	}
	if temperature > 0 {
		s.random = rand.New(rand.NewPCG(uint64(len(prompt)), uint64(temperature*1000)))
	}
	return s
}

// fresh reports whether the prompt has not run yet.
func (s *search) fresh() bool { return len(s.live) == 1 && len(s.live[0].written) == 0 }

// rows appends the tokens to be run next for a window in the given cross-attention slot: the whole prompt
// at first, then the last token of each live hypothesis.
func (s *search) rows(dst []row, window int32) []row {
	if s.fresh() {
		for i, id := range s.prompt {
			dst = append(dst, row{token: id, position: int32(i), slot: s.slots[0], window: window})
		}
		return dst
	}
	for _, h := range s.live {
		n := len(h.written)
		dst = append(dst, row{token: h.written[n-1], position: int32(len(s.prompt) + n - 1),
			slot: h.slot, window: window})
	}
	return dst
}

// count is how many rows that is.
func (s *search) count() int {
	if s.fresh() {
		return len(s.prompt)
	}
	return len(s.live)
}

// rule appends the rule of each live hypothesis' next token.
func (s *search) rule(dst []engine.Rule) []engine.Rule {
	for _, h := range s.live {
		r := s.rules.next(h.written, s.timestamps)
		if s.temperature > 0 {
			r.Temperature, r.Uniform = s.temperature, s.draws(1)[0]
		}
		dst = append(dst, r)
	}
	return dst
}

// draws are the points to draw the next n tokens by. They stay the same until a token has been chosen.
func (s *search) draws(n int) []float32 {
	for len(s.drawn) < n {
		s.drawn = append(s.drawn, s.random.Float32())
	}
	return s.drawn[:n]
}

// candidates is how many choices the search wants for each hypothesis.
func (s *search) candidates() int {
	if s.beam == 1 {
		return 1
	}
	return s.beam + 1
}

// advance takes the choices for each live hypothesis, in order, and reports whether the search is done.
// The copies must be made before the next step.
func (s *search) advance(choices []engine.Choice) (copies []slotCopy, done bool) {
	if s.beam == 1 {
		return nil, s.advanceOne(choices[0])
	}
	return s.advanceBeam(choices)
}

func (s *search) advanceOne(c engine.Choice) (done bool) {
	h := &s.live[0]
	if s.temperature > 0 {
		s.drawn = s.drawn[1:]
	}
	if len(c.IDs) == 0 || c.IDs[0] == s.rules.v.endOfText {
		if len(c.IDs) > 0 {
			h.sum += float64(c.LogProbs[0])
		}
		s.finished, s.live = append(s.finished, *h), nil
		return true
	}
	h.sum += float64(c.LogProbs[0])
	h.written = append(h.written, c.IDs[0])
	h.logProbs = append(h.logProbs, c.LogProbs[0])
	return len(h.written) >= s.limit
}

// advanceBeam keeps the best continuations. A hypothesis that ends among them is finished;
// the search is done when as many are finished as it keeps alive (openai/whisper,
// decoding.py, BeamSearchDecoder with patience 1).
func (s *search) advanceBeam(choices []engine.Choice) (copies []slotCopy, done bool) {
	type continuation struct {
		from    int
		id      int32
		logProb float32
		sum     float64
	}
	var all []continuation
	for i, c := range choices {
		for j, id := range c.IDs {
			all = append(all, continuation{i, id, c.LogProbs[j], s.live[i].sum + float64(c.LogProbs[j])})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].sum > all[j].sum })

	length := len(s.prompt) + len(s.live[0].written)
	old := s.live
	var kept []hypothesis
	var parents []int
	for _, c := range all {
		parent := old[c.from]
		if c.id == s.rules.v.endOfText {
			if len(s.finished) < s.beam {
				s.finished = append(s.finished, hypothesis{written: parent.written,
					logProbs: parent.logProbs, sum: c.sum})
			}
			continue
		}
		written := append(append(make([]int32, 0, len(parent.written)+16), parent.written...), c.id)
		logProbs := append(append(make([]float32, 0, len(written)+15), parent.logProbs...), c.logProb)
		kept, parents = append(kept, hypothesis{written: written, logProbs: logProbs, sum: c.sum}), append(parents, c.from)
		if len(kept) == s.beam {
			break
		}
	}
	s.live = kept
	copies = s.place(old, parents, length)
	return copies, len(s.finished) >= s.beam || len(s.live) == 0 || len(s.live[0].written) >= s.limit
}

// place gives every live hypothesis a slot. The first child of a parent stays in its parent's; the
// others go to slots that nobody lives in any more, so that no copy overwrites what another one reads.
func (s *search) place(old []hypothesis, parents []int, length int) (copies []slotCopy) {
	taken := map[int32]bool{}
	placed := make([]bool, len(s.live))
	for i, p := range parents {
		if slot := old[p].slot; !taken[slot] {
			taken[slot], placed[i] = true, true
			s.live[i].slot = slot
		}
	}
	free := s.slots
	for i, p := range parents {
		if placed[i] {
			continue
		}
		for taken[free[0]] {
			free = free[1:]
		}
		taken[free[0]] = true
		s.live[i].slot = free[0]
		copies = append(copies, slotCopy{to: free[0], from: old[p].slot, length: length})
	}
	return copies
}

// outcome ranks what is finished by its mean log-probability, with live hypotheses in the
// places left (openai/whisper, decoding.py, MaximumLikelihoodRanker).
func (s *search) outcome() outcome {
	all := append([]hypothesis(nil), s.finished...)
	sort.SliceStable(s.live, func(i, j int) bool { return s.live[i].sum > s.live[j].sum })
	for _, h := range s.live {
		if len(all) >= s.beam {
			break
		}
		all = append(all, h)
	}
	best, score := hypothesis{}, 0.0
	for i, h := range all {
		if mean := h.sum / float64(max(1, len(h.written))); i == 0 || mean > score {
			best, score = h, mean
		}
	}
	return outcome{
		tokens:     best.written,
		logProbs:   best.logProbs,
		avgLogProb: best.sum / float64(len(best.written)+1),
		noSpeech:   s.noSpeech,
		temp:       s.temperature,
	}
}
