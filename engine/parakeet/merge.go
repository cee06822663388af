package parakeet

import (
	"slices"

	"hark/engine"
)

// tokens are all windows' tokens, in order. Where windows overlap, each word of the stretch that they share is there once.
func (j *job) tokens() []spokenToken {
	v := j.model.pieces
	words := make([][]spokenWord, len(j.windows))
	for i, w := range j.windows {
		tokens := w.placed()
		refineTimes(v, tokens)
		words[i] = splitWords(v, tokens)
		if w.span.Overlap > 0 && i > 0 {
			words[i-1], words[i] = merge(words[i-1], words[i], seconds(w.span.Start), seconds(w.span.Start+w.span.Overlap))
		}
	}
	var all []spokenToken
	for i := range words {
		at := len(all)
		for _, w := range words[i] {
			all = append(all, w.tokens...)
		}
		if at < len(all) {
			all[at].first = true
		}
	}
	return all
}

// merge leaves every word in [from, to), which both windows heard, to one of them.
func merge(left, right []spokenWord, from, to float64) (l, r []spokenWord) {
	leftEnd, rightStart := engine.OverlapBorder(results(left), results(right), from, to)
	l = slices.DeleteFunc(left, func(w spokenWord) bool { return w.middle() >= leftEnd })
	r = slices.DeleteFunc(right, func(w spokenWord) bool { return w.middle() < rightStart })
	return l, r
}

// results are words as [engine.OverlapBorder] takes them.
func results(words []spokenWord) []engine.Word {
	all := make([]engine.Word, len(words))
	for i, w := range words {
		all[i] = engine.Word{Text: w.text, Start: w.start, End: w.end}
	}
	return all
}

func (w *spokenWord) middle() float64 { return (w.start + w.end) / 2 }
