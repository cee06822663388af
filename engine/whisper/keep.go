package whisper

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"hark/engine"
)

// keptPass is what a chain knows after a pass, or after all of them: the segments of these, and where it stands.
type keptPass struct {
	Language   string        `json:"language"`
	Seek       int           `json:"seek"`
	Ended      bool          `json:"ended"`
	Reset      int           `json:"reset"`
	LastSpeech float64       `json:"last_speech"`
	Segments   []keptSegment `json:"segments"`
}

type keptSegment struct {
	Start       float64    `json:"start"`
	End         float64    `json:"end"`
	Seek        int        `json:"seek"`
	Text        string     `json:"text"`
	Tokens      []int32    `json:"tokens"`
	AvgLogProb  float64    `json:"avg_logprob"`
	NoSpeech    float64    `json:"no_speech"`
	Temperature float32    `json:"temperature"`
	Ratio       float64    `json:"ratio"`
	LogProbs    []float32  `json:"logprobs"`
	Words       []keptWord `json:"words,omitempty"`
}

type keptWord struct {
	Text        string    `json:"text"`
	Tokens      []int32   `json:"tokens"`
	LogProbs    []float32 `json:"logprobs"`
	Start       float64   `json:"start"`
	End         float64   `json:"end"`
	Probability float64   `json:"probability"`
}

// errNotEnded says that there is nothing to keep.
var errNotEnded = errors.New("the window has not been heard to its end")

// Keep implements [engine.Job].
func (j *job) Keep(w engine.Window) (engine.Kept, error) {
	own, ok := w.(*window)
	if !ok || own.chain.job != j || own.whole && !own.chain.ended {
		return engine.Kept{}, errNotEnded
	}
	c := own.chain
	pass := keptPass{Language: c.language, Seek: c.seek, Ended: c.ended, Reset: c.reset, LastSpeech: c.lastSpeech}
	for i := range c.segments[own.before:] {
		pass.Segments = append(pass.Segments, c.segments[own.before+i].keep())
	}
	state, err := json.Marshal(pass)
	kept := engine.Kept{Start: c.start, End: c.start + len(c.samples), State: state}
	if !own.whole {
		kept.Pass = c.passes - 1
	}
	return kept, err
}

func (s *segment) keep() keptSegment {
	k := keptSegment{
		Start: s.start, End: s.end, Seek: s.seek, Text: s.text, Tokens: s.tokens,
		AvgLogProb: s.outcome.avgLogProb, NoSpeech: s.outcome.noSpeech, Temperature: s.outcome.temp,
		Ratio: s.ratio, LogProbs: s.logProbs,
	}
	for _, w := range s.words {
		k.Words = append(k.Words, keptWord{w.text, w.tokens, w.logProbs, w.start, w.end, w.probability})
	}
	return k
}

// Restore implements [engine.Job]. The passes of a chain are taken up to the first that is missing.
func (j *job) Restore(kept []engine.Kept) {
	chains := map[[2]int]*chain{}
	for _, c := range j.chains {
		chains[[2]int{c.start, c.start + len(c.samples)}] = c
	}
	kept = slices.Clone(kept)
	slices.SortStableFunc(kept, func(a, b engine.Kept) int { return cmp.Compare(a.Pass, b.Pass) })
	for _, k := range kept {
		var pass keptPass
		c := chains[[2]int{k.Start, k.End}]
		if c == nil || c.ended || c.passes != k.Pass || json.Unmarshal(k.State, &pass) != nil || !c.fits(&pass) {
			continue
		}
		c.restore(&pass)
	}
	for _, c := range j.chains { // what the first window to be heard would have told the others
		if j.language != "" || !c.ended && c.passes == 0 {
			break
		}
		j.language = c.language
	}
}

// fits reports whether a pass can have been the chain's next.
func (c *chain) fits(p *keptPass) bool {
	frames := len(c.samples) / hopSamples
	switch v := c.job.model.vocabulary; {
	case p.Seek < c.seek, p.Seek > frames+framesPerWindow:
		return false
	case !p.Ended && (!c.job.options.Sequential || p.Seek == c.seek || p.Seek >= frames):
		return false
	case c.language != "" && c.language != p.Language,
		!v.knows(p.Language) && (p.Language != "" || len(p.Segments) > 0):
		return false
	}
	written := len(c.written)
	known := func(id int32) bool { return id >= 0 && int(id) < c.job.model.config.Vocabulary }
	for _, s := range p.Segments {
		written += len(s.Tokens)
		if len(s.LogProbs) != len(s.Tokens) ||
			slices.ContainsFunc(s.Tokens, func(id int32) bool { return !known(id) }) ||
			slices.ContainsFunc(s.Words, func(w keptWord) bool { return len(w.LogProbs) != len(w.Tokens) }) {
			return false
		}
	}
	return p.Reset >= 0 && p.Reset <= written
}

// restore puts the chain where it was after a pass.
func (c *chain) restore(p *keptPass) {
	c.language, c.lastSpeech, c.reset = p.Language, p.LastSpeech, p.Reset
	for i := range p.Segments {
		s := p.Segments[i].segment()
		c.segments = append(c.segments, s)
		c.written = append(c.written, s.tokens...)
	}
	c.seek = p.Seek
	c.passes++
	c.done.Store(int64(min(c.seek*hopSamples, len(c.samples))))
	if p.Ended {
		c.finish()
	}
}

func (k *keptSegment) segment() segment {
	s := segment{
		start: k.Start, end: k.End, seek: k.Seek, text: k.Text, tokens: k.Tokens, logProbs: k.LogProbs, ratio: k.Ratio,
		outcome: &outcome{avgLogProb: k.AvgLogProb, noSpeech: k.NoSpeech, temp: k.Temperature},
	}
	for _, w := range k.Words {
		s.words = append(s.words, timedWord{w.Text, w.Tokens, w.LogProbs, w.Start, w.End, w.Probability})
	}
	return s
}
