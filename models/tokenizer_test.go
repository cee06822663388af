package models

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// testdata/tokenizer.json is made up: the 256 single bytes in the order of
// GPT-2's vocabulary, then the merges "h e", "l l", "he ll", "hell o",
// "Ġ hello", "o o", and two special tokens.
func toyTokenizer(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := LoadTokenizer("testdata/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func pieces(text string) []string {
	var all []string
	for len(text) > 0 {
		n := nextPiece(text)
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}

func TestPieces(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"Hello world", []string{"Hello", " world"}},
		{"we've I'll 'tis it'S", []string{"we", "'ve", " I", "'ll", " '", "tis", " it", "'", "S"}},
		{"a  b", []string{"a", " ", " b"}},
		{"a \n b", []string{"a", " \n", " b"}},
		{"a\nb", []string{"a", "\n", "b"}},
		{"a\n\nb", []string{"a", "\n", "\n", "b"}},
		{"a  ", []string{"a", "  "}},
		{" ", []string{" "}},
		{"x86 100%", []string{"x", "86", " 100", "%"}},
		{"¿Qué?! ½²", []string{"¿", "Qué", "?!", " ½²"}},
		{"a\u00a0b", []string{"a", "\u00a0", "b"}},
		{"a\u3000 b", []string{"a", "\u3000", " b"}},
		{"e\u0301t", []string{"e", "\u0301", "t"}},
		{"日本 語", []string{"日本", " 語"}},
		{"\xff\xfea", []string{"\xff\xfe", "a"}},
		{" '", []string{" '"}},
	} {
		if got := pieces(c.text); !slices.Equal(got, c.want) {
			t.Errorf("pieces(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestToyTokenizer(t *testing.T) {
	tok := toyTokenizer(t)
	byteID := func(b byte) int32 { return tok.Encode(string([]byte{b}))[0] }
	for _, c := range []struct {
		text string
		want []int32
	}{
		{"hello", []int32{259}},
		{" hello", []int32{260}},
		{"hell", []int32{258}},
		{"llhe", []int32{257, 256}},
		{"ooo", []int32{261, byteID('o')}},
		{"helloo", []int32{259, byteID('o')}}, // not "oo": its rank is higher
		{"hello<|end|>", []int32{259, byteID('<'), byteID('|'), byteID('e'), byteID('n'), byteID('d'), byteID('|'), byteID('>')}},
	} {
		if got := tok.Encode(c.text); !slices.Equal(got, c.want) {
			t.Errorf("Encode(%q) = %v, want %v", c.text, got, c.want)
		}
	}
	if got := tok.Decode([]int32{262, 259, 260, 263, -1, 9999}); got != "hello hello" {
		t.Errorf("Decode = %q, want special and unknown ids skipped", got)
	}
	for _, name := range []string{"<|nospeech|>", "<|nocaptions|>"} {
		if id, ok := tok.Special(name); !ok || id != 263 {
			t.Errorf("%s is %d, %v, want 263 by either name", name, id, ok)
		}
	}
	if name, _ := tok.SpecialName(263); name != "<|nospeech|>" {
		t.Errorf("SpecialName(263) = %q, want the current name", name)
	}
	if _, ok := tok.Special("<|none|>"); ok {
		t.Error("an unknown special token is found")
	}
	if name, ok := tok.SpecialName(262); !ok || name != "<|end|>" {
		t.Errorf("SpecialName(262) = %q, %v", name, ok)
	}
	if tok.Len() != 264 {
		t.Errorf("Len() = %d, want 264", tok.Len())
	}
}

// A long word without a white space must not take quadratic time: prompts come
// from outside. The quadratic way takes minutes for this length.
func TestEncodeLongWord(t *testing.T) {
	tok := toyTokenizer(t)
	done := make(chan []int32)
	go func() { done <- tok.Encode(strings.Repeat("helloo", 1<<18)) }()
	select {
	case ids := <-done:
		if len(ids) != 2<<18 {
			t.Errorf("%d tokens, want %d", len(ids), 2<<18)
		}
	case <-time.After(time.Minute):
		t.Fatal("a long word takes too long")
	}
}

func TestReplaceInvalid(t *testing.T) {
	// Python 3: bytes(...).decode("utf-8", errors="replace")
	for raw, want := range map[string]string{
		"":                             "",
		"a\xffb":                       "a\ufffdb",
		"\xf0\x9f\x98":                 "\ufffd",
		"\xf0\x9f\x98x":                "\ufffdx",
		"\x80\x80":                     "\ufffd\ufffd",
		"\xe6\x97\xe6\x97\xa5":         "\ufffd日",
		"\xed\xa0\x80":                 "\ufffd\ufffd\ufffd", // a surrogate
		"\xe0\x80\x80":                 "\ufffd\ufffd\ufffd", // overlong
		"\xc0\xaf":                     "\ufffd\ufffd",
		"\xf4\x90\x80\x80":             "\ufffd\ufffd\ufffd\ufffd", // beyond U+10FFFF
		"\xf0\x80\x80\x80":             "\ufffd\ufffd\ufffd\ufffd",
		"\xc2":                         "\ufffd",
		"\xef\xbf\xbd\xf0\x90\x80\xc2": "\ufffd\ufffd\ufffd",
	} {
		if got := replaceInvalid([]byte(raw)); got != want {
			t.Errorf("replaceInvalid(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestTokenizerRefusals(t *testing.T) {
	const added = `"added_tokens":[{"id":3,"content":"<|x|>"}]`
	model := func(vocab, merges string) string {
		return fmt.Sprintf(`{%s,"model":{"type":"BPE","vocab":%s,"merges":%s}}`, added, vocab, merges)
	}
	if _, err := parseTokenizer([]byte(model(`{"a":0,"b":1,"ab":2}`, `[["a","b"]]`))); err != nil {
		t.Fatal("pairs as lists:", err)
	}
	for name, c := range map[string]struct{ file, want string }{
		"not JSON":         {`{`, "unexpected end"},
		"other model":      {`{"model":{"type":"Unigram"}}`, `"Unigram"`},
		"no merges":        {`{"model":{"type":"BPE","vocab":{}}}`, "no merges"},
		"odd merge":        {model(`{"a":0}`, `["a b c"]`), "not a pair"},
		"one of a merge":   {model(`{"a":0}`, `[["a"]]`), "not a pair"},
		"three in a merge": {model(`{"a":0}`, `[["a","b","c"]]`), "not a pair"},
		"number in merge":  {model(`{"a":0}`, `[["a",1]]`), "merges:"},
		"merges no list":   {model(`{"a":0}`, `{"a":"b"}`), "merges:"},
		"number as merge":  {model(`{"a":0}`, `[1]`), "merges:"},
		"unknown merge":    {model(`{"a":0,"b":1}`, `["a b"]`), "which the vocabulary lacks"},
		"merge order":      {model(`{"a":0,"ab":2,"ba":1,"b":4}`, `["a b","b a"]`), "order of merges"},
		"token twice":      {model(`{"a":0,"a":1}`, `[]`), "there twice"},
		"id twice":         {model(`{"a":0,"b":0}`, `[]`), "given twice"},
		"id of a special":  {model(`{"a":3}`, `[]`), "is both"},
		"negative id":      {model(`{"a":-1}`, `[]`), "out of place"},
		"huge id":          {model(`{"a":2000000000}`, `[]`), "out of place"},
		"id not a number":  {model(`{"a":"b"}`, `[]`), `id of "a"`},
		"fraction":         {model(`{"a":1.5}`, `[]`), "not an object of tokens"},
		"no object":        {model(`[1]`, `[]`), "not an object of tokens"},
		"no vocabulary":    {`{"model":{"type":"BPE"}}`, "not an object of tokens"},
		"sentencepiece":    {model(`{"▁a":0}`, `[]`), "byte alphabet"},
		"special twice":    {`{"added_tokens":[{"id":1,"content":"x"},{"id":2,"content":"x"}],"model":{"type":"BPE","vocab":{},"merges":[]}}`, "there twice"},
		"special id":       {`{"added_tokens":[{"id":1,"content":"x"},{"id":1,"content":"y"}],"model":{"type":"BPE","vocab":{},"merges":[]}}`, "have the id"},
		"special huge":     {`{"added_tokens":[{"id":2000000000,"content":"x"}],"model":{"type":"BPE","vocab":{},"merges":[]}}`, "out of place"},
	} {
		path := write(t, t.TempDir(), "tokenizer.json", []byte(c.file))
		_, err := LoadTokenizer(path)
		var format *FormatError
		if !errors.As(err, &format) || format.File != path || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want a *FormatError with %q", name, err, c.want)
		}
	}
	if _, err := LoadTokenizer("testdata/none.json"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func BenchmarkEncode(b *testing.B) {
	tok := realTokenizer(b, "base")
	text := strings.Repeat("And so, my fellow Americans, ask not what your country can do for you: don't. Überraschungsmoment, 日本語のテスト! ", 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tok.Encode(text)
	}
}

func BenchmarkLoadTokenizer(b *testing.B) {
	path := realModel(b, "base") + "/tokenizer.json"
	for b.Loop() {
		if _, err := LoadTokenizer(path); err != nil {
			b.Fatal(err)
		}
	}
}
