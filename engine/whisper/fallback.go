package whisper

import "hark/engine"

// Thresholds of the reference implementation (openai/whisper, transcribe.py, transcribe).
const (
	// A text that compresses better than this repeats itself.
	maxCompressionRatio = 2.4
	// A mean log-probability below this is a guess.
	minAvgLogProb = -1.0
	// A no-speech probability above this means silence, if the text is a guess too.
	maxNoSpeech = 0.6
)

// defaultTemperatures is the ladder that a window climbs until its text looks sound.
var defaultTemperatures = []float32{0, 0.2, 0.4, 0.6, 0.8, 1}

// Where nobody speaks, in music above all, models write what often stood below such sound, "Thank you.", or draw words
// at random: a few, for many seconds that the speech finder took for speech. Of 16 segments that tiny.en writes below
// seven minutes of music without a voice the limits leave two full stops, which a rule of their own takes off; of 170
// English clips of speech, whose last words are sometimes as unsure, but said in less time, they take nothing.
const (
	// So many tokens a second and fewer are no speech that goes on.
	maxSlowTokens = 1.0
	// A text that is a guess even by this, where the model hears silence, is invented.
	minUnheardLogProb = -0.8
	// A text this unsure is invented if there is some silence, which below minNoSpeech is what speech has.
	minDrawnLogProb = -2.5
	minNoSpeech     = 0.25
)

// isInvented reports whether an outcome, a text of so many tokens for some seconds of sound, is nothing that was heard.
// The reference implementation has no such rule, so chains that follow it don't ask.
func (o *outcome) isInvented(text string, tokens int, seconds float64) bool {
	if o.noSpeech > maxNoSpeech && engine.PlainWord(text) == "" {
		return true // a full stop
	}
	unheard := o.noSpeech > maxNoSpeech && o.avgLogProb <= minUnheardLogProb
	drawn := o.noSpeech > minNoSpeech && o.avgLogProb <= minDrawnLogProb
	return (unheard || drawn) && float64(tokens) <= maxSlowTokens*seconds
}

// isSilence reports whether nothing was said.
func (o *outcome) isSilence() bool { return o.noSpeech > maxNoSpeech && o.avgLogProb <= minAvgLogProb }

// isSound reports whether an outcome with the given text needs no further try.
func (o *outcome) isSound(text string) bool {
	if o.noSpeech > maxNoSpeech && o.avgLogProb < minAvgLogProb {
		return true // silence: another try would only guess again
	}
	return engine.CompressionRatio(text) <= maxCompressionRatio && o.avgLogProb >= minAvgLogProb
}
