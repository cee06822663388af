package whisper

import (
	"math"
	"slices"
	"strings"
)

// timedWord is a word with its times in seconds from the start of its chain.
type timedWord struct {
	text        string
	tokens      []int32
	logProbs    []float32 // of these
	start, end  float64
	probability float64
}

// Punctuation that belongs to the word after it, and to the word before it (openai/whisper, transcribe.py).
const (
	prependPunctuation = "\"'“¿([{-"
	appendPunctuation  = "\"'.。,，!！?？:：”)]}、"
	sentenceEnds       = ".。!！?？"
)

// alignment is what the device measured for a text: when each token was said, as encoder
// positions for the tokens and the end of text, and how likely each token was.
type alignment struct {
	positions     []int
	probabilities []float32
}

// timeWords gives the text tokens' words their times, in seconds from the pass's start.
func (v *vocabulary) timeWords(text []int32, logProbs []float32, a alignment, language string) []timedWord {
	const positionsPerSecond = framesPerSecond / framesPerPosition
	var words []timedWord
	at := 0
	for _, w := range v.splitWords(text, language) {
		to := at + len(w.tokens)
		var sum float64
		for _, p := range a.probabilities[at:to] {
			sum += float64(p)
		}
		words = append(words, timedWord{
			text: w.text, tokens: w.tokens, logProbs: logProbs[at:to],
			start:       float64(a.positions[at]) / positionsPerSecond,
			end:         float64(a.positions[to]) / positionsPerSecond,
			probability: sum / float64(len(w.tokens)),
		})
		at = to
	}
	return words
}

// placeWords puts timed words into the segments whose tokens they are made of. Attention wanders in pauses, so words
// that are much longer than usual are cut short where a sentence or a segment borders on them; a segment then starts
// and ends with its words. lastSpeech is when the last segment before these ended; the new one is returned. offset
// moves the words to the chain's time (openai/whisper, timing.py, add_word_timestamps).
func (v *vocabulary) placeWords(segments []segment, words []timedWord, offset, lastSpeech float64) float64 {
	usual := usualDuration(words)
	longest := 2 * usual
	if usual > 0 {
		shortenAtSentenceEnds(words, longest)
	}
	words = mergePunctuation(words)

	next := 0
	for i := range segments {
		s := &segments[i]
		want, have := len(v.text(s.tokens)), 0
		for next < len(words) && have < want {
			w := words[next]
			next++
			have += len(w.tokens)
			if w.text != "" {
				w.start, w.end = hundredths(offset+w.start), hundredths(offset+w.end)
				s.words = append(s.words, w)
			}
		}
		if len(s.words) == 0 {
			continue
		}
		s.shortenAfterPause(usual, longest, lastSpeech)
		s.fitToWords(usual)
		lastSpeech = s.end
	}
	return lastSpeech
}

// usualDuration is the median length of the words that have one, at most 0.7 s.
func usualDuration(words []timedWord) float64 {
	var durations []float64
	for _, w := range words {
		if d := w.end - w.start; d != 0 {
			durations = append(durations, d)
		}
	}
	if len(durations) == 0 {
		return 0
	}
	slices.Sort(durations)
	n := len(durations)
	return min(0.7, (durations[(n-1)/2]+durations[n/2])/2)
}

func shortenAtSentenceEnds(words []timedWord, longest float64) {
	for i := 1; i < len(words); i++ {
		w := &words[i]
		if w.end-w.start <= longest {
			continue
		}
		if strings.Contains(sentenceEnds, w.text) {
			w.end = w.start + longest
		} else if strings.Contains(sentenceEnds, words[i-1].text) {
			w.start = w.end - longest
		}
	}
}

// mergePunctuation joins punctuation to the word it belongs to. What was joined stays as an empty
// word without tokens, so that counting tokens still works.
func mergePunctuation(words []timedWord) []timedWord {
	following := len(words) - 1
	for i := len(words) - 2; i >= 0; i-- {
		w, next := &words[i], &words[following]
		if strings.HasPrefix(w.text, " ") && strings.Contains(prependPunctuation, strings.TrimSpace(w.text)) {
			next.text = w.text + next.text
			next.tokens, next.logProbs = slices.Concat(w.tokens, next.tokens), slices.Concat(w.logProbs, next.logProbs)
			w.text, w.tokens, w.logProbs = "", nil, nil
		} else {
			following = i
		}
	}
	previous := 0
	for i := 1; i < len(words); i++ {
		w, before := &words[i], &words[previous]
		if !strings.HasSuffix(before.text, " ") && strings.Contains(appendPunctuation, w.text) {
			before.text += w.text
			before.tokens, before.logProbs = slices.Concat(before.tokens, w.tokens),
				slices.Concat(before.logProbs, w.logProbs)
			w.text, w.tokens, w.logProbs = "", nil, nil
		} else {
			previous = i
		}
	}
	return words
}

// shortenAfterPause cuts the first words of a segment short when they reach back into a pause.
func (s *segment) shortenAfterPause(usual, longest, lastSpeech float64) {
	first := &s.words[0]
	if first.end-lastSpeech <= usual*4 {
		return
	}
	long := first.end-first.start > longest
	if len(s.words) > 1 && s.words[1].end-first.start > longest*2 {
		long = true
	}
	if !long {
		return
	}
	if len(s.words) > 1 {
		if second := &s.words[1]; second.end-second.start > longest {
			border := max(second.end/2, second.end-longest)
			first.end, second.start = border, border
		}
	}
	first.start = max(0, first.end-longest)
}

// fitToWords makes a segment start and end with its words, unless a word is so long that the
// timestamp tokens are more to be trusted.
func (s *segment) fitToWords(usual float64) {
	first, last := &s.words[0], &s.words[len(s.words)-1]
	if s.start < first.end && s.start-0.5 > first.start {
		first.start = max(0, min(first.end-usual, s.start))
	} else {
		s.start = first.start
	}
	if s.end > last.start && s.end+0.5 < last.end {
		last.end = max(last.start+usual, s.end)
	} else {
		s.end = last.end
	}
}

// hundredths rounds seconds as times are written.
func hundredths(t float64) float64 { return math.Round(t*100) / 100 }
