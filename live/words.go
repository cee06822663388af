package live

import (
	"strings"
	"unicode"

	"hark/engine"
)

// unspaced are the scripts that are written without spaces between words: there each character counts as one.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// split cuts text into words, each with the space before it and the punctuation behind it. Joined they are the text.
func split(text string) (words []string) {
	start, open := 0, false // open: the word has more than space in it
	var last rune
	for i, r := range text {
		if open && beginsWord(last, r) {
			words = append(words, text[start:i])
			start, open = i, false
		}
		open = open || !unicode.IsSpace(r)
		last = r
	}
	if start < len(text) {
		words = append(words, text[start:])
	}
	return words
}

// beginsWord reports whether a word ends between two characters.
func beginsWord(last, r rune) bool {
	switch {
	case unicode.IsMark(r):
		return false
	case unicode.IsSpace(r):
		return true
	case unicode.In(r, unspaced...):
		return true
	}
	return unicode.In(last, unspaced...) && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

// same reports whether two words are one, whatever their case and punctuation.
func same(a, b string) bool {
	p, q := engine.PlainWord(a), engine.PlainWord(b)
	if p == "" && q == "" {
		return strings.TrimSpace(a) == strings.TrimSpace(b)
	}
	return p == q
}

// behind returns the words of a hypothesis that come behind those shown: the hypothesis begins with as many
// words as are nearest to the shown ones by edit distance. What the last of them has beyond the last one
// shown, such as a full stop, counts as a word.
func behind(shown, hypothesis []string) []string {
	n := matching(shown, hypothesis)
	rest := hypothesis[n:]
	if n == 0 || len(shown) == 0 {
		return rest
	}
	if more, ok := strings.CutPrefix(hypothesis[n-1], shown[len(shown)-1]); ok && more != "" &&
		same(hypothesis[n-1], shown[len(shown)-1]) {
		return append([]string{more}, rest...)
	}
	return rest
}

// matching is how many words a hypothesis begins with that stand for those shown.
func matching(shown, hypothesis []string) int {
	// row[j] is the edit distance of the words shown so far and the first j of the hypothesis.
	row := make([]int, len(hypothesis)+1)
	for j := range row {
		row[j] = j
	}
	for _, w := range shown {
		corner := row[0]
		row[0]++
		for j, h := range hypothesis {
			cost := corner
			if !same(w, h) {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, corner+1)
		}
	}
	best := 0
	for j := range row {
		if row[j] < row[best] || row[j] == row[best] && closer(shown, hypothesis, j, best) {
			best = j
		}
	}
	return best
}

// closer reports whether j words of a hypothesis stand for those shown better than k do, at the same edit distance:
// that the last word is the same counts more than how many they are.
func closer(shown, hypothesis []string, j, k int) bool {
	ends := func(n int) bool {
		return n > 0 && len(shown) > 0 && same(hypothesis[n-1], shown[len(shown)-1])
	}
	if ends(j) != ends(k) {
		return ends(j)
	}
	return distance(j, len(shown)) < distance(k, len(shown))
}

func distance(a, b int) int { return max(a-b, b-a) }
