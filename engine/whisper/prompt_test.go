package whisper

import (
	"strings"
	"testing"
)

func TestInitialPrompt(t *testing.T) {
	// Every character is a token.
	encode := func(s string) (ids []int32) {
		for _, r := range s {
			ids = append(ids, r)
		}
		return ids
	}
	for _, c := range []struct {
		name     string
		keywords []string
		prompt   string
		want     string
	}{
		{"nothing", nil, " ", ""},
		{"prompt", nil, " Hello there. ", " Hello there."},
		{"keywords", []string{"Hark", " Ohm "}, "", " Hark, Ohm."},
		{"both", []string{"Hark"}, "Hello.", " Hark. Hello."},
		{"long prompt", nil, strings.Repeat("x", 50) + "end", strings.Repeat("x", 37) + "end"},
		{"long both", []string{"Hark"}, strings.Repeat("x", 50) + "end", " Hark." + strings.Repeat("x", 31) + "end"},
		{"many keywords", strings.Fields("one two three four five six"), "end", " one, two, three. end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(initialPrompt(c.keywords, c.prompt, 40, encode)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
