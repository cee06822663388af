package parakeet

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hark/engine"
)

// pieces is what is asked of a vocabulary; [models.PieceTokenizer] answers it.
type pieces interface {
	// Text is a piece's text alone, without the space before a word; "" for a piece that has none.
	Text(id int32) string
	// StartsWord reports whether a piece begins with the space before a word.
	StartsWord(id int32) bool
	// IsMark reports whether a text is a punctuation mark that can follow a word.
	IsMark(text string) bool
	// Encode is the pieces of a text.
	Encode(text string) []int32
}

// token is a piece that a window's decoding wrote.
type token struct {
	id int32
	// frame is the encoder frame it was written at, from the start of its window; duration how many
	// frames the decoder went on from there.
	frame, duration int
	// logProb is its log-probability among the pieces and the blank.
	logProb float32
	// confidence is how sure the model was at that step, 0 to 1; see confidence.
	confidence float32
}

// spokenToken is a token in its place in the audio.
type spokenToken struct {
	token
	start, end float64 // seconds
	first      bool    // of its window: no word goes on from one window to another
}

// spokenWord is a word with its punctuation: a run of tokens.
type spokenWord struct {
	text       string // without the space before it
	tokens     []spokenToken
	start, end float64
}

// placeTokens gives a window's tokens their place in the audio. offset is where the window starts, frame how long a
// frame is, both in seconds. A token may end after the window.
func placeTokens(tokens []token, offset, frame float64) []spokenToken {
	placed := make([]spokenToken, len(tokens))
	for i, t := range tokens {
		placed[i] = spokenToken{
			token: t,
			start: offset + float64(t.frame)*frame, end: offset + float64(t.frame+t.duration)*frame,
			first: i == 0,
		}
	}
	return placed
}

// isClosing reports whether a text is a mark that joins the word before it. NeMo takes any mark for one; those that
// open something (« ¿ in Spanish) must stay apart from the word before, or both words become one.
func isClosing(v pieces, text string) bool {
	if !v.IsMark(text) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(text)
	return r != '¿' && r != '¡' && !unicode.In(r, unicode.Ps, unicode.Pi)
}

// refineTimes lets a punctuation mark take no time: it ends when the token before it does (NeMo 3.0.0,
// _refine_timestamps_tdt).
func refineTimes(v pieces, tokens []spokenToken) {
	for i := 1; i < len(tokens); i++ {
		if isClosing(v, v.Text(tokens[i].id)) {
			tokens[i].start, tokens[i].end = tokens[i-1].end, tokens[i-1].end
		}
	}
}

// splitWords divides tokens into words, each from a piece that starts one up to the next, with the marks behind it
// (NeMo 3.0.0, get_words_offsets).
func splitWords(v pieces, tokens []spokenToken) []spokenWord {
	var words []spokenWord
	for _, t := range tokens {
		text := v.Text(t.id)
		mark := isClosing(v, text)
		switch n := len(words); {
		case n == 0 || !mark && (t.first || v.StartsWord(t.id)):
			words = append(words, spokenWord{text: text, tokens: []spokenToken{t}, start: t.start, end: t.end})
		case mark && words[n-1].text == "" && n > 1: // a bare space before a mark is none
			w := &words[n-2]
			w.add(text, append(words[n-1].tokens, t)...)
			words = words[:n-1]
		default:
			words[n-1].add(text, t)
		}
	}
	return slices.DeleteFunc(words, func(w spokenWord) bool { return strings.TrimSpace(w.text) == "" })
}

// add lets a word go on.
func (w *spokenWord) add(text string, tokens ...spokenToken) {
	w.text += text
	w.tokens = append(w.tokens, tokens...)
	w.end = tokens[len(tokens)-1].end
}

// confidence is the least of the word's tokens' (NeMo's default way to sum up a word).
func (w *spokenWord) confidence() float64 {
	least := float32(1)
	for _, t := range w.tokens {
		least = min(least, t.confidence)
	}
	return float64(least)
}

// probability is the mean of its tokens' probabilities.
func (w *spokenWord) probability() float64 {
	sum := 0.0
	for _, t := range w.tokens {
		sum += math.Exp(float64(t.logProb))
	}
	return sum / float64(len(w.tokens))
}

// spelling is the word's tokens, with the space before it.
func (w *spokenWord) spelling(v pieces) []engine.Token {
	spelling := make([]engine.Token, len(w.tokens))
	for i, t := range w.tokens {
		spelling[i] = engine.Token{Bytes: []byte(v.Text(t.id)), LogProb: t.logProb}
	}
	spelling[0].Bytes = append([]byte(" "), spelling[0].Bytes...)
	return spelling
}

// result is the word as callers get it, no later than limit, in seconds.
func (w *spokenWord) result(limit float64) engine.Word {
	return engine.Word{
		Text:  " " + w.text,
		Start: min(w.start, limit), End: min(w.end, limit),
		Probability: w.probability(), Confidence: w.confidence(),
	}
}
