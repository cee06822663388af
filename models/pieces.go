package models

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type charClass uint8

const (
	other charClass = iota // punctuation, symbols, marks, bytes that are not UTF-8
	letter
	number
	space
)

// nextPiece returns the bytes of the piece at the start of a text that is not
// empty. It is GPT-2's pattern (src/encoder.py in openai/gpt-2) by hand, since
// Go's regular expressions lack the look-ahead:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func nextPiece(text string) int {
	if text[0] == '\'' {
		for _, suffix := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
			if strings.HasPrefix(text[1:], suffix) {
				return 1 + len(suffix)
			}
		}
	}
	class, n := classify(text)
	if class == space {
		end, lastStart := spaceRun(text)
		if end == len(text) {
			return end
		}
		// White space before a word leaves its last character to the word. Only
		// an ASCII space joins it; any other is a piece by itself.
		if lastStart > 0 {
			return lastStart
		}
		if text[0] != ' ' {
			return end
		}
		class, n = classify(text[1:])
		n++
	}
	for n < len(text) {
		next, size := classify(text[n:])
		if next != class {
			break
		}
		n += size
	}
	return n
}

// spaceRun returns the end of the white space that text starts with, and where
// its last character starts.
func spaceRun(text string) (end, lastStart int) {
	for end < len(text) {
		class, size := classify(text[end:])
		if class != space {
			break
		}
		lastStart = end
		end += size
	}
	return end, lastStart
}

// classify returns the class and length of the first character of a text that
// is not empty.
func classify(text string) (charClass, int) {
	if b := text[0]; b < utf8.RuneSelf {
		return asciiClass[b], 1
	}
	r, n := utf8.DecodeRuneInString(text)
	return classOf(r), n
}

var asciiClass = func() (table [utf8.RuneSelf]charClass) {
	for r := range table {
		table[r] = classOf(rune(r))
	}
	return table
}()

func classOf(r rune) charClass {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return other
}
