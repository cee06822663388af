package whisper

import (
	"strings"
	"unicode/utf8"
)

// asciiPunctuation is Python's string.punctuation: a run of it is a word of its own.
const asciiPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// wordTokens is one word and its tokens.
type wordTokens struct {
	text   string
	tokens []int32
}

// splitWords divides text tokens into words. Languages that put no spaces between words are split
// at every character (openai/whisper, tokenizer.py, split_to_word_tokens).
func (v *vocabulary) splitWords(tokens []int32, language string) []wordTokens {
	characters := v.splitCharacters(tokens)
	switch language {
	case "zh", "ja", "th", "lo", "my", "yue":
		return characters
	}
	var words []wordTokens
	for _, c := range characters {
		starts := strings.HasPrefix(c.text, " ") || strings.Contains(asciiPunctuation, strings.TrimSpace(c.text))
		if starts || len(words) == 0 {
			words = append(words, c)
			continue
		}
		last := &words[len(words)-1]
		last.text += c.text
		last.tokens = append(last.tokens, c.tokens...)
	}
	return words
}

// splitCharacters divides tokens wherever those so far make whole characters. Bytes that are no
// character even with what follows stand as U+FFFD in the whole text too, and end a piece.
func (v *vocabulary) splitCharacters(tokens []int32) []wordTokens {
	whole := []rune(v.tokenizer.Decode(tokens))
	var pieces []wordTokens
	start, runes := 0, 0
	for i := range tokens {
		piece := v.tokenizer.Decode(tokens[start : i+1])
		if at := strings.IndexRune(piece, utf8.RuneError); at >= 0 {
			place := runes + utf8.RuneCountInString(piece[:at])
			if place >= len(whole) || whole[place] != utf8.RuneError {
				continue // the rest of the character is in the next token
			}
		}
		pieces = append(pieces, wordTokens{text: piece, tokens: append([]int32(nil), tokens[start:i+1]...)})
		runes += utf8.RuneCountInString(piece)
		start = i + 1
	}
	if start < len(tokens) {
		pieces = append(pieces, wordTokens{text: v.tokenizer.Decode(tokens[start:]),
			tokens: append([]int32(nil), tokens[start:]...)})
	}
	return pieces
}
