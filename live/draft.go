package live

import (
	"strings"
	"unicode"

	"hark/engine"
)

// draft is the text of a piece that is still being spoken.
type draft struct {
	shown []string // words
	ahead []string // of the last hypothesis, behind those shown
}

// hear takes the next hypothesis and returns what it settles, to be shown behind the rest.
func (d *draft) hear(hypothesis string) string {
	words := behind(d.shown, split(hypothesis))
	n := d.agreed(words)
	settled, ahead := words[:n], words[n:]
	if n > 0 && n == len(words) {
		settled, ahead = withoutEnd(words)
	}
	d.ahead = ahead
	d.show(settled)
	return strings.Join(settled, "")
}

// agreed is how many words a hypothesis has in common with the one before. Models change their mind about commas and capitals all the
// time, which matters for the first word only: as the new hypothesis has it, it is shown.
func (d *draft) agreed(words []string) (n int) {
	for n < len(words) && n < len(d.ahead) && same(words[n], d.ahead[n]) {
		if n == 0 && len(d.shown) == 0 && words[n] != d.ahead[n] {
			break
		}
		n++
	}
	return n
}

// withoutEnd parts words from the punctuation behind the last one: that sound ends there makes models end the sentence.
func withoutEnd(words []string) (settled, end []string) {
	n := len(words) - 1
	last := strings.TrimRightFunc(words[n], unicode.IsPunct)
	if strings.TrimSpace(last) == "" {
		return words[:n], words[n:]
	}
	if last == words[n] {
		return words, nil
	}
	return append(words[:n:n], last), []string{words[n][len(last):]}
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
