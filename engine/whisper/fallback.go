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

// isSilence reports whether nothing was said.
func (o *outcome) isSilence() bool { return o.noSpeech > maxNoSpeech && o.avgLogProb <= minAvgLogProb }

// isSound reports whether an outcome with the given text needs no further try.
func (o *outcome) isSound(text string) bool {
	if o.noSpeech > maxNoSpeech && o.avgLogProb < minAvgLogProb {
		return true // silence: another try would only guess again
	}
	return engine.CompressionRatio(text) <= maxCompressionRatio && o.avgLogProb >= minAvgLogProb
}
