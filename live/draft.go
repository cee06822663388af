package live

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hark/engine"
)

// draft is the text of a piece that is still being spoken.
type draft struct {
	shown []string // words
	ahead []string // of the last hypothesis, behind those shown
}

// hear takes the next hypothesis and returns what it settles, to be shown behind the rest: the words that
// it has in common with the one before. The last word of either is left out: the sound broke off within it,
// or makes the model end a sentence there.
func (d *draft) hear(hypothesis string) string {
	words := behind(d.shown, split(hypothesis))
	n := 0
	for n < min(len(words), len(d.ahead))-1 && same(words[n], d.ahead[n]) {
		n++
	}
	if n > 0 && len(d.shown) == 0 {
		words[0] = capital(words[0], d.ahead[0])
	}
	d.ahead = words[n:]
	d.show(words[:n])
	return strings.Join(words[:n], "")
}

// capital is the one of two spellings of the first word that has a capital. Models change their mind about capitals and
// commas all the time. It matters here, where people notice it; elsewhere a word is shown as the new hypothesis has it.
func capital(word, before string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimSpace(before))
	if strings.EqualFold(word, before) && unicode.IsUpper(first) {
		return before
	}
	return word
}

// show adds words to those shown. Punctuation that comes alone belongs to the word before.
func (d *draft) show(words []string) {
	for _, w := range words {
		if n := len(d.shown); n > 0 && engine.PlainWord(w) == "" && strings.TrimSpace(w) == w {
			d.shown[n-1] += w
		} else {
			d.shown = append(d.shown, w)
		}
	}
}

// end takes the last hypothesis, of the whole piece, and returns the rest of the text.
func (d *draft) end(hypothesis string) string {
	return strings.Join(behind(d.shown, split(hypothesis)), "")
}
