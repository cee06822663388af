package parakeet

import (
	"slices"

	"hark/engine"
)

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
