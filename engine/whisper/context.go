package whisper

import (
	"slices"
	"strings"

	"hark/engine"
)

const (
	// contextTail is how many frames of silence after the sound a short context keeps. Of 2733 words in clips tiny.en
	// and base err in 233 and 206 (in whole windows 233 and 202). With 64, 32 and 150 frames they err in 0 to 10 more,
	// and with zeros in place of silence, as the reference pads its windows, in as many.
	contextTail = 100
	// contextGrain is what the length of a short context is a multiple of, in frames: a
	// whole number of the kernels' tiles.
	contextGrain = 32
	// longestContext is where a short context ends to be one: with the rest of its window
	// it would be as long as the whole.
	longestContext = framesPerWindow - restPositions*framesPerPosition
	// leastRepeat is how many words at the end must be there twice in a row to be taken for a slip.
	leastRepeat = 3
	// paceTokens is how many tokens a second even slow speech has, and unsaidSeconds how long a part of the sound may be
	// that a text at this pace leaves over. Of 20 minutes cut into pieces of 12, 17, 22 and 27 s without regard to words
	// (scripts/wer-options.py --pieces), which often begin and end within one, tiny.en gives four as their first
	// words alone; with 3 s the word errors are the same.
	paceTokens, unsaidSeconds = 2.0, 5.0
)

// contextOf is how many frames the encoder is shown for a chain's next pass: all 30 s, as in the reference, or, where
// the model may or the text is a draft, the sound and some silence after it. Padding a clip of 5 s costs the encoder
// six times the work, and every step of the decoder after it.
func (m *Model) contextOf(c *chain) int {
	if o := &c.job.options; m.speech == nil || o.Sequential || !m.shortContext && !o.Draft {
		return framesPerWindow
	}
	frames := (c.size() + contextTail + contextGrain - 1) / contextGrain * contextGrain
	if frames > longestContext {
		return framesPerWindow
	}
	return frames
}

// needsContext reports whether an outcome, which reads as text of so many tokens for some seconds of sound and was found
// in a short context, is to be tried again in the whole one. Silence is: sound that nobody speaks in seldom comes here.
func (o *outcome) needsContext(text string, tokens int, seconds float64) bool {
	return o.isSilence() || !o.isSound(text) || endsTwice(text) || seconds-float64(tokens)/paceTokens > unsaidSeconds
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
