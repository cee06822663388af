package parakeet

import (
	"math"
	"slices"
	"testing"
)

var letters = listPieces{"_", "a", "b", "c", "d", "e", "f", "A", "B"}

// spell is what a text has gained, in tokens of keywords: for good, and for one that may still break off.
func spell(b *booster, text string) (kept, open float64) {
	at := int32(boostRoot)
	for _, id := range letters.Encode(text) {
		next, gain := b.step(at, id)
		at = next
		kept += gain / boostPerToken
	}
	open = b.open(at) / boostPerToken
	return kept - open, open
}

func TestBooster(t *testing.T) {
	for _, c := range []struct {
		keywords []string
		text     string
		kept     float64
		open     float64
	}{
		{[]string{"abc"}, "abc", 4, 0}, // the space before counts too
		{[]string{"abc"}, "ab", 0, 3},
		{[]string{"abc"}, "abd", 0, 0},
		{[]string{"abc"}, "d abc", 4, 0},
		{[]string{"abc"}, "abc abc", 8, 0},
		{[]string{"abc"}, "abc ", 4, 1}, // a space may begin it again
		{[]string{"abc"}, "ab abc", 4, 0},
		{[]string{"abc"}, "dabc", 0, 0},
		{[]string{"abc", "abcde"}, "abcd", 4, 1},
		{[]string{"abc", "abcde"}, "abcdf", 4, 0},
		{[]string{"abc", "abcde"}, "abcde", 6, 0},
		{[]string{"ab cd", "cd"}, "ab cd", 6, 0},
		{[]string{"ab cd e", "cd"}, "ab cd f", 3, 0}, // the shorter one within is kept
		{[]string{"ab cd e", "cd f"}, "ab cd f", 5, 0},
		{[]string{"ab cd e", "cd", "cd ff"}, "ab cd ff", 3, 0}, // what was kept doesn't begin another one
		{[]string{"ab", "ab"}, "ab ab ab", 9, 0},
	} {
		kept, open := spell(newBooster(letters, c.keywords), c.text)
		if kept != c.kept || open != c.open {
			t.Errorf("%q for %q: kept %g and open %g, want %g and %g", c.text, c.keywords, kept, open, c.kept, c.open)
		}
	}
}

// TestBoosterForgets: whatever was written, nothing is left of keywords that broke off.
func TestBoosterForgets(t *testing.T) {
	b := newBooster(letters, []string{"abcdef", "bcdef", "cdeab a", "aabaac", "ab ab f"})
	state := uint64(1)
	for range 2000 {
		at, sum := int32(boostRoot), 0.0
		for range 30 {
			state = state*6364136223846793005 + 1442695040888963407
			next, gain := b.step(at, int32(state>>33)%3)
			at, sum = next, sum+gain
			if math.Abs(sum-b.open(at)) > 1e-9 {
				t.Fatalf("%g is left, %g of it open", sum, b.open(at))
			}
		}
	}
}

func TestSpellings(t *testing.T) {
	for _, c := range []struct {
		word string
		want []string
	}{
		{"", nil},
		{" \n", nil},
		{"hark", []string{"hark", "Hark"}},
		{"Kubernetes", []string{"Kubernetes", "kubernetes"}},
		{"NVIDIA", []string{"NVIDIA", "nvidia", "Nvidia"}},
		{"iPhone", []string{"iPhone", "iphone", "IPhone", "Iphone"}},
		{" new  york ", []string{"new york", "New york", "New York"}},
		{"École", []string{"École", "école"}},
	} {
		if got := spellings(c.word); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.word, got, c.want)
		}
	}
}

func TestBoosterOfNothing(t *testing.T) {
	if b := newBooster(letters, []string{"", "  "}); b != nil {
		t.Errorf("got %+v", b)
	}
}

func TestBoosterExpects(t *testing.T) {
	b := newBooster(letters, []string{"ab", "ac", "bd"})
	if got, want := b.expected(boostRoot), letters.ids("_"); !slices.Equal(got, want) {
		t.Errorf("at first: got %v, want %v", got, want)
	}
	at, _ := b.step(boostRoot, letters.id("_"))
	if got, want := b.expected(at), letters.ids("_", "a", "b", "A", "B"); !slices.Equal(got, want) {
		t.Errorf("in a word: got %v, want %v", got, want)
	}
}
