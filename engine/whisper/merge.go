package whisper

import (
	"math"
	"strings"
	"unicode"

	"hark/engine"
)

// maxOverlapShift is by how much two windows may differ about when the same word was said, in seconds.
const maxOverlapShift = 0.6

// mergeOverlaps lets every word of a stretch that two windows share be said once: the left window speaks
// up to a border and the right one from there on. The border lies where both heard the same
// word at the same time, as near the middle of the shared stretch as can be; else in its middle.
func (j *job) mergeOverlaps() {
	for i := 1; i < len(j.chains); i++ {
		overlap := j.spans[i].Overlap
		if overlap == 0 {
			continue
		}
		left, right := j.chains[i-1], j.chains[i]
		shift := float64(right.start-left.start) / engine.SampleRate // right's time in left's
		end := shift + float64(overlap)/engine.SampleRate
		l, r := left.wordsBetween(shift, math.Inf(1)), right.wordsBetween(0, end-shift)
		borderLeft, borderRight := (shift+end)/2, (end-shift)/2
		nearest := math.Inf(1)
		for _, a := range l {
			for _, b := range r {
				if plainWord(a.text) != plainWord(b.text) || math.Abs(a.start-(b.start+shift)) > maxOverlapShift {
					continue
				}
				if d := math.Abs(a.middle() - (shift+end)/2); d < nearest {
					// Both heard it: the left one keeps it.
					nearest, borderLeft, borderRight = d, a.end, b.end
				}
			}
		}
		left.keepWords(func(w *timedWord) bool { return w.middle() < borderLeft })
		right.keepWords(func(w *timedWord) bool { return w.middle() >= borderRight })
	}
}

func (w *timedWord) middle() float64 { return (w.start + w.end) / 2 }

// wordsBetween are the words whose middle lies in [from, to).
func (c *chain) wordsBetween(from, to float64) []timedWord {
	var words []timedWord
	for _, s := range c.segments {
		for _, w := range s.words {
			if m := w.middle(); m >= from && m < to {
				words = append(words, w)
			}
		}
	}
	return words
}

// keepWords drops the words that keep refuses, and the segments that are left with none.
func (c *chain) keepWords(keep func(*timedWord) bool) {
	segments := c.segments[:0]
	for _, s := range c.segments {
		var words []timedWord
		for i := range s.words {
			if keep(&s.words[i]) {
				words = append(words, s.words[i])
			}
		}
		if len(words) == len(s.words) {
			segments = append(segments, s)
			continue
		}
		if len(words) == 0 {
			continue
		}
		s.words, s.tokens, s.text = words, nil, ""
		for _, w := range words {
			s.text += w.text
			s.tokens = append(s.tokens, w.tokens...)
		}
		s.start, s.end = words[0].start, words[len(words)-1].end
		segments = append(segments, s)
	}
	c.segments = segments
}

// plainWord is a word without case and punctuation, for comparing.
func plainWord(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
