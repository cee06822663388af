package whisper

import (
	"bytes"
	"compress/zlib"
	"strings"
)

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
	return compressionRatio(text) <= maxCompressionRatio && o.avgLogProb >= minAvgLogProb
}

// emptyBlock is what Go's zlib adds at the end and C's, which the threshold was made for, does not: a
// stored block of nothing, four bytes and three bits (RFC 1951, section 3.2.4).
const emptyBlock = 4

// compressionRatio is the text's UTF-8 length by its length after zlib's default
// compression; it's within a byte or two of C's zlib.
func compressionRatio(text string) float64 {
	text = strings.TrimSpace(text)
	var b bytes.Buffer
	w := zlib.NewWriter(&b) // errors can't happen: the buffer takes everything
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return float64(len(text)) / float64(b.Len()-emptyBlock)
}
