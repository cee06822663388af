package parakeet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"hark/engine"
)

// listPieces is a vocabulary that is a list; "_" stands for the space before a word.
// Texts are encoded letter by letter.
type listPieces []string

func (l listPieces) Text(id int32) string     { return strings.TrimPrefix(l[id], "_") }
func (l listPieces) StartsWord(id int32) bool { return strings.HasPrefix(l[id], "_") }
func (l listPieces) id(piece string) int32    { return int32(slices.Index(l, piece)) }
func (l listPieces) Encode(text string) []int32 {
	return l.ids(strings.Split("_"+strings.ReplaceAll(text, " ", "_"), "")...)
}
func (l listPieces) IsMark(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return n > 0 && n == len(text) && unicode.IsPunct(r)
}

func (l listPieces) ids(pieces ...string) (ids []int32) {
	for _, p := range pieces {
		ids = append(ids, l.id(p))
	}
	return ids
}

// spoken makes tokens of a vocabulary made up on the way: "piece@start-end", times in frames; "|" starts a window.
func spoken(text string) (v listPieces, tokens []spokenToken) {
	first := true
	for _, s := range strings.Fields(text) {
		if s == "|" {
			first = true
			continue
		}
		at := strings.LastIndex(s, "@")
		k := spokenToken{token: token{id: int32(len(v))}, first: first}
		fmt.Sscanf(s[at+1:], "%f-%f", &k.start, &k.end)
		v, tokens, first = append(v, s[:at]), append(tokens, k), false
	}
	return v, tokens
}

func TestSplitWords(t *testing.T) {
	for _, c := range []struct{ name, tokens, want string }{
		{"nothing", "", ""},
		{"pieces", "_he@1-2 llo@2-4 _you@5-6", "hello@1-4 you@5-6"},
		{"a bare space opens a word", "_@1-2 C@3-4 _@5-5 a@6-7", "C@1-4 a@5-7"},
		{"a mark takes no time", "_he@1-2 .@5-8 _you@9-10", "he.@1-2 you@9-10"},
		{"marks in a row", "_he@1-2 ?@5-8 !@9-10", "he?!@1-2"},
		{"a mark that starts with a space", "_he@1-2 _.@5-8 _you@9-10", "he.@1-2 you@9-10"},
		{"a bare space before a mark", "_he@1-2 _@4-5 .@5-8 _you@9-10", "he.@1-5 you@9-10"},
		{"a mark at first", ".@1-2 _he@3-4", ".@1-2 he@3-4"},
		{"a bare space at last", "_he@1-2 _@4-5", "he@1-2"},
		{"marks that open stay apart", "_ho@1-2 _¿@3-4 que@4-6 ?@7-8", "ho@1-2 ¿que?@3-6"},
		{"a number with a point", "_3@1-2 .@3-3 5@4-5", "3.5@1-5"},
		{"a window starts a word", "_he@1-2 | llo@5-6 _you@7-8", "he@1-2 llo@5-6 you@7-8"},
		{"but not with a mark", "_he@1-2 | .@5-6 _you@7-8", "he.@1-2 you@7-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, tokens := spoken(c.tokens)
			refineTimes(v, tokens)
			var got []string
			for _, w := range splitWords(v, tokens) {
				got = append(got, fmt.Sprintf("%s@%g-%g", w.text, w.start, w.end))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// timed makes words of one token each: "text@start-end", times in seconds.
func timed(text string) (words []spokenWord) {
	_, tokens := spoken(text)
	for i, s := range strings.Fields(text) {
		k := tokens[i]
		words = append(words, spokenWord{text: s[:strings.LastIndex(s, "@")], tokens: []spokenToken{k}, start: k.start, end: k.end})
	}
	return words
}

func TestSplitSegments(t *testing.T) {
	for _, c := range []struct{ name, words, want string }{
		{"nothing", "", ""},
		{"sentences", "a@0-1 b.@1-2 c?@3-4 d!@5-6 e@7-8", "a b. / c? / d! / e"},
		{"abbreviations end one too", "a@0-1 e.g.@1-2 b.@3-4", "a e.g. / b."},
		{"commas don't", "a,@0-1 b;@1-2 c:@3-4", "a, b; c:"},
		{"long, at the longest pause", "a@0-3 b@3.5-6 c@7-9 d@9.5-12 e@12.2-17", "a b / c d e"},
		{"long, pauses alike: nearest to the middle", "a@0-2 b@3-5 c@6-8 d@9-11 e@12-14 f@15-17", "a b c / d e f"},
		{"very long, more than once", "a@0-1 b@30-31 c@32-33 d@70-71", "a / b c / d"},
		{"a single long word", "a@0-40", "a"},
		{"a long sentence among short ones", "a.@0-1 b@2-9 c.@11-20 d@21-22", "a. / b / c. / d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, words := range splitSegments(timed(c.words)) {
				var texts []string
				for _, w := range words {
					texts = append(texts, w.text)
				}
				got = append(got, strings.Join(texts, " "))
			}
			if strings.Join(got, " / ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSegmentResult(t *testing.T) {
	words := timed("a@1-2 b.@3-5")
	words[0].tokens[0].logProb, words[0].tokens[0].confidence = -1, 0.5
	words[1].tokens = append(words[1].tokens, words[1].tokens[0])
	words[1].tokens[1].confidence = 0.25
	s := segmentResult(nil, words, 4.5, &engine.Options{WordTimestamps: true})
	if s.Text != " a b." || s.Start != 1 || s.End != 4.5 || !slices.Equal(s.Tokens, []int32{0, 1, 1}) || s.AvgLogProb != -1./3 {
		t.Errorf("got %+v", s)
	}
	want := []engine.Word{
		{Text: " a", Start: 1, End: 2, Probability: words[0].probability(), Confidence: 0.5},
		{Text: " b.", Start: 3, End: 4.5, Probability: 1},
	}
	if !slices.Equal(s.Words, want) {
		t.Errorf("got words %+v, want %+v", s.Words, want)
	}
	if s := segmentResult(nil, words, 10, &engine.Options{WordTimestamps: false}); s.Words != nil || s.End != 5 {
		t.Errorf("got %+v", s)
	}
}

func TestMerge(t *testing.T) {
	texts := func(words []spokenWord) string {
		var all []string
		for _, w := range words {
			all = append(all, w.text)
		}
		return strings.Join(all, " ")
	}
	left := timed("a@8-9 b@10.1-10.5 c@10.8-11.2 d@11.4-11.6 e@11.8-12")
	right := timed("b@10-10.2 c,@10.7-11.1 d@11.4-11.7 elf@11.8-12.3 f@13-14")
	l, r := merge(left, right, 10, 12)
	if got := texts(l) + " | " + texts(r); got != "a b c | d elf f" {
		t.Errorf("got %q", got)
	}
	if l, r := merge(nil, nil, 1, 2); len(l)+len(r) != 0 {
		t.Errorf("got %v and %v", l, r)
	}
}

// splitSegments divides words into sentences, and those that are too long at their pauses.
func splitSegments(words []spokenWord) (segments [][]spokenWord) {
	for _, sentence := range splitSentences(words) {
		segments = splitLong(segments, sentence)
	}
	return segments
}
