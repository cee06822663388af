package engine

import "strings"

// Task is what is asked of a model.
type Task uint8

const (
	// Transcribe writes what is said in its own language.
	Transcribe Task = iota
	// Translate writes it in English.
	Translate
)

// Options are a request's wishes. The zero value transcribes with detected language.
type Options struct {
	Task Task
	// Language is a code of the model's list ("en"); empty detects it.
	Language string
	// Languages are codes among which the language is detected; empty means all. Those that the model doesn't know
	// don't count, unless it knows none of them.
	Languages []string
	// Prompt is text that the model takes as having been said before.
	Prompt string
	// Keywords are names and terms that may well be said, as they are to be written. A model leans towards them.
	Keywords []string
	// WordTimestamps asks for the time of every word.
	WordTimestamps bool
	// LogProbs asks for the log-probability of every token.
	LogProbs bool
	// Temperatures are tried in turn until a window's text looks sound; empty means
	// the model's own ladder, a single one means no fallback.
	Temperatures []float32
	// BeamSize is the number of hypotheses kept at temperature 0; below 2 is greedy.
	BeamSize int
	// Sequential decodes a recording as one chain: each window starts where the
	// last one's timestamps ended and is conditioned on its text.
	Sequential bool
	// Draft asks for a text soon, of speech that is not at its end: a model doesn't hear it again where it is unsure.
	Draft bool
	// Unconditioned leaves the text before out of a sequential chain's prompts.
	Unconditioned bool
}

// Result is what a job heard.
type Result struct {
	// Language is the code of the language spoken, or "" where the model does not say.
	Language string
	Segments []Segment
}

// Text is the segments' text joined, without the space it starts with.
func (r *Result) Text() string {
	var b strings.Builder
	for i := range r.Segments {
		b.WriteString(r.Segments[i].Text)
	}
	return strings.TrimSpace(b.String())
}

// Segment is a piece of text that the model gave one pair of times.
type Segment struct {
	// Seek is the position of the window it came from, in frames of 10 ms.
	Seek int
	// Start and End are seconds from the start of the audio.
	Start, End float64
	// Speaker is who says it, "0", "1"…; "" where speakers aren't told apart.
	Speaker string
	// Model is the name of the model that heard it, where several did; else "".
	Model string
	// Text keeps the space it starts with.
	Text   string
	Tokens []int32
	// Temperature, AvgLogProb, CompressionRatio and NoSpeechProb are of the window's decoding.
	Temperature      float32
	AvgLogProb       float64
	CompressionRatio float64
	NoSpeechProb     float64
	// Words is nil unless word times were asked for.
	Words []Word
	// Spelling is the text token by token, without those that are no text; nil unless log-probabilities were asked for.
	Spelling []Token
}

// Token is a piece of a text.
type Token struct {
	// Bytes are what it writes, which need not be whole characters. Those of all tokens are the text.
	Bytes []byte
	// LogProb is its log-probability among all that the model might have written there.
	LogProb float32
}

// Word is one word with its punctuation.
type Word struct {
	// Text keeps the space it starts with.
	Text string
	// Start and End are seconds from the start of the audio.
	Start, End float64
	// Probability is the mean probability of the word's tokens.
	Probability float64
	// Confidence is how sure the model was of its least sure token, by the entropy of what else it might have
	// written: 0, it could have been anything, to 1. It is 0 where a model gives none.
	Confidence float64
}
