package engine

import (
	"math"
	"strings"
	"unicode"
)

// maxOverlapShift is by how much two windows may differ about when the same word was said, in
// seconds, on the average of its start and end.
const maxOverlapShift = 0.6

// OverlapBorder decides who speaks where two windows share a stretch of sound, [from, to) in seconds, so that every
// word in it is said once. left and right are the words that either window heard, in order, their times in seconds of
// the same audio. The left window keeps the words whose middle lies before leftEnd, the right one those whose middle
// lies at rightStart or later. The border lies behind a word that both heard at the same time, as near the middle of
// the stretch as can be; where there is none, in the middle.
func OverlapBorder(left, right []Word, from, to float64) (leftEnd, rightStart float64) {
	middle := (from + to) / 2
	leftEnd, rightStart = middle, middle
	best := (to - from) / 2
	for i, l := range left {
		d := math.Abs(l.Middle() - middle)
		if d > best {
			continue
		}
		// Both must take each other for the same word, or a word said twice in a row would be mistaken.
		if j := sameWord(l, right); j >= 0 && sameWord(right[j], left) == i {
			best, leftEnd, rightStart = d, l.End, right[j].End
		}
	}
	return leftEnd, rightStart
}

// Middle is the time halfway through the word, in seconds.
func (w Word) Middle() float64 { return (w.Start + w.End) / 2 }

// sameWord is the place in others of the word that reads the same and was said at the nearest time, or -1.
func sameWord(w Word, others []Word) int {
	text, nearest, best := PlainWord(w.Text), math.Inf(1), -1
	for i, o := range others {
		// Both ends count: a window that begins within a word may stutter at first.
		d := (math.Abs(o.Start-w.Start) + math.Abs(o.End-w.End)) / 2
		if d < nearest && d <= maxOverlapShift && text != "" && PlainWord(o.Text) == text {
			nearest, best = d, i
		}
	}
	return best
}

// PlainWord is a word without case and punctuation, for comparing.
func PlainWord(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
