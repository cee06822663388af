package engine

import "testing"

func TestParseLanguage(t *testing.T) {
	for _, c := range []struct {
		in, code string
		ok       bool
	}{
		{"", "", true}, {"auto", "", true}, {"en", "en", true}, {"EN", "en", true}, {"en-US", "en", true},
		{"en_us", "en", true}, {"english", "en", true}, {"English", "en", true}, {" de ", "de", true},
		{"pt-BR", "pt", true}, {"zh-Hans", "zh", true}, {"zh-yue", "yue", true}, {"yue", "yue", true},
		{"cantonese", "yue", true}, {"haw", "haw", true}, {"xx", "", false}, {"xx-YY", "", false},
		{"en-", "", false}, {"-", "", false}, {"-en", "", false}, {"e", "", false},
	} {
		code, ok := ParseLanguage(c.in)
		if code != c.code || ok != c.ok {
			t.Errorf("ParseLanguage(%q): got %q, %v; want %q, %v", c.in, code, ok, c.code, c.ok)
		}
	}
}

func TestLanguageNames(t *testing.T) {
	if len(languages) != 100 {
		t.Errorf("got %d languages, want Whisper's 100", len(languages))
	}
	for _, l := range languages {
		if code, ok := ParseLanguage(l.name); !ok || code != l.code {
			t.Errorf("ParseLanguage(%q): got %q, %v; want %q", l.name, code, ok, l.code)
		}
	}
	for alias, code := range languageAliases {
		if _, ok := languageNames[code]; !ok {
			t.Errorf("alias %q leads to the unknown code %q", alias, code)
		}
	}
	if got := LanguageName("en"); got != "english" {
		t.Errorf("LanguageName(en): got %q", got)
	}
}
