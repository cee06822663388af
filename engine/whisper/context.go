package whisper

import (
	"slices"
	"strings"

	"hark/engine"
)

const (
	// contextTail is how many frames of its padding a window keeps in a short context. A model wants to hear the end: with 1 s
	// of silence tiny.en and base say the last sentence of some clips twice, with 4 s they don't.
	contextTail = 400
	// contextGrain is what the length of a short context is a multiple of, in frames: a whole number of the kernels' tiles.
	contextGrain = 32
	// minShortLogProb: a text less sure than this is heard again. Short contexts then take a quarter off the processor time of tiny.en on
	// 167 clips, and among 2733 words it makes 3 errors more than in the whole context, base 2 fewer. At -0.6 a third of the time went, but
	// tiny.en made 10 errors more and base 15; with 6 s of silence 12 and 6.
	minShortLogProb = -0.45
	// leastRepeat is how many words at the end must be there twice in a row to be taken for a slip.
	leastRepeat = 3
)

// contextOf is how many frames the encoder is shown for a chain's next pass: all 30 s, as in the reference, or, where
// the model may or the text is a draft, the sound and some of the padding after it. Padding a clip of 5 s costs the encoder six times the
// work, and every step of the decoder after it.
func (m *Model) contextOf(c *chain) int {
	if o := &c.job.options; o.Sequential || !m.shortContext && !o.Draft {
		return framesPerWindow
	}
	grains := (c.size() + contextTail + contextGrain - 1) / contextGrain
	return min(grains*contextGrain, framesPerWindow)
}

// needsContext reports whether an outcome, which reads as text and was found in a short context, is to be tried again in the whole one.
func (o *outcome) needsContext(text string) bool {
	return o.avgLogProb < minShortLogProb || !o.isSound(text) || endsTwice(text)
}

// endsTwice reports whether a text's last words are the same as those before them, but for marks and capitals.
func endsTwice(text string) bool {
	var words []string
	for _, w := range strings.Fields(text) {
		if w = engine.PlainWord(w); w != "" {
			words = append(words, w)
		}
	}
	end := len(words)
	for n := leastRepeat; 2*n <= end; n++ {
		if slices.Equal(words[end-n:], words[end-2*n:end-n]) {
			return true
		}
	}
	return false
}
