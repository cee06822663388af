package live

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"":                            nil,
		" ":                           {" "},
		"one":                         {"one"},
		" One, two  three. ":          {" One,", " two", "  three.", " "},
		" 今天天气。很好":                    {" 今", "天", "天", "气。", "很", "好"},
		"用GPT模型":                      {"用", "GPT", "模", "型"},
		" ภาษา":                       {" ภ", "า", "ษ", "า"},
		" Ünïcode e\u0301te\u0301 👍🏽": {" Ünïcode", " e\u0301te\u0301", " 👍🏽"},
	} {
		if got := split(text); !slices.Equal(got, want) {
			t.Errorf("split(%q): got %q, want %q", text, got, want)
		}
	}
}

func TestBehind(t *testing.T) {
	for _, c := range []struct{ shown, hypothesis, want string }{
		{"", "", ""},
		{"", " a b", " a b"},
		{" a b", " a b c", " c"},
		{" a b", " A, b. c", ". c"},
		{" a b", " a b", ""},
		{" a b.", " a b c", " c"},
		{" a x b", " a b c", " c"},
		{" a b", " a x b c", " c"},
		{" a b c", " a x c d", " d"},
		{" a b c", " z y", ""},
		{" a b c", "", ""},
		{" the cat sat", " that cat sat on the mat", " on the mat"},
		{" no no", " no no no", " no"},
	} {
		if got := strings.Join(behind(split(c.shown), split(c.hypothesis)), ""); got != c.want {
			t.Errorf("%q behind %q: got %q, want %q", c.hypothesis, c.shown, got, c.want)
		}
	}
}

func TestDraft(t *testing.T) {
	for name, c := range map[string]struct {
		hypotheses []string
		shown      []string
		whole      string
		rest       string
	}{
		"two that agree": {
			[]string{" The", " The night", " The night was", " The night was dark"}, []string{"", "", " The", " night"},
			" The night was dark.", " was dark.",
		},
		"one alone":  {[]string{" The night"}, []string{""}, " A night.", " A night."},
		"none agree": {[]string{" A man", " The man", " That man"}, []string{"", "", ""}, " Then.", " Then."},
		"a full stop that comes too early": {
			[]string{" I think.", " I think.", " I think that is", " I think that is"}, []string{"", " I", "", " think that"},
			" I think that is so.", " is so.",
		},
		"a word that was cut": {
			[]string{" a quarter pest", " a quarter pest not", " a quarter past nine"}, []string{"", " a quarter", ""}, " A quarter past nine.", " past nine.",
		},
		"a full stop at the end": {[]string{" I think so.", " I think so."}, []string{"", " I think"}, " I think so.", " so."},
		"a change of mind": {
			[]string{" I scream now", " I scream now", " Ice cream is it", " Ice cream is it"}, []string{"", " I scream", "", " is"},
			" Ice cream is good.", " good.",
		},
		"commas and capitals": {
			[]string{" at nine. Bring a coat", " at nine, bring a war"}, []string{"", " at nine, bring a"}, " At nine. Bring a coat.", " coat.",
		},
		"the first word's capital": {
			[]string{" the last", " The last one", " the last one is"}, []string{"", " The", " last"}, " The last one is it.", " one is it.",
		},
		"a capital before":   {[]string{" The last", " the last one"}, []string{"", " The"}, " The last.", " last."},
		"no spaces":          {[]string{"今天", "今天天", "今天天气"}, []string{"", "今", "天"}, "今天天气。", "天气。"},
		"silence at the end": {[]string{" yes it is", " yes it"}, []string{"", " yes"}, "", ""},
	} {
		var d draft
		for i, h := range c.hypotheses {
			if got := d.hear(h); got != c.shown[i] {
				t.Errorf("%s: %q settles %q, want %q", name, h, got, c.shown[i])
			}
		}
		if got := d.end(c.whole); got != c.rest {
			t.Errorf("%s: the rest is %q, want %q", name, got, c.rest)
		}
	}
}

// FuzzDraft holds what is shown of any hypotheses to being valid and a part of them.
func FuzzDraft(f *testing.F) {
	f.Add(" The| The night| The night was.| The night was")
	f.Add("今天|今天。天|今天。天气")
	f.Add(". .| ...|.|. a")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		if len(text) > 2000 {
			return
		}
		hypotheses := strings.Split(text, "|")
		for _, h := range hypotheses {
			if joined := strings.Join(split(h), ""); joined != h {
				t.Errorf("the words of %q joined are %q", h, joined)
			}
		}
		var d draft
		shown := ""
		for _, h := range hypotheses[:len(hypotheses)-1] {
			settled := d.hear(h)
			if !utf8.ValidString(settled) {
				t.Errorf("%q is not valid", settled)
			}
			shown += settled
		}
		if joined := strings.Join(d.shown, ""); joined != shown {
			t.Errorf("%q was shown, %q is remembered", shown, joined)
		}
		last := hypotheses[len(hypotheses)-1]
		rest := d.end(last)
		if !strings.HasSuffix(last, rest) {
			t.Errorf("the rest %q is not the end of %q", rest, last)
		}
		if shown == "" && rest != last {
			t.Errorf("nothing was shown, and of %q the rest is %q", last, rest)
		}
	})
}
