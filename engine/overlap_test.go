package engine

import (
	"slices"
	"strings"
	"testing"
)

// said makes words of 0.2 s each that start at the given times.
func said(text string, starts ...float64) []Word {
	var words []Word
	for i, w := range strings.Fields(text) {
		words = append(words, Word{Text: " " + w, Start: starts[i], End: starts[i] + 0.2})
	}
	return words
}

func TestOverlapBorder(t *testing.T) {
	for _, c := range []struct {
		name        string
		left, right []Word
		want        string
	}{
		{"both heard all", said("a b c d", 9, 10.2, 10.9, 11.5), said("B, c d. e", 10.25, 10.85, 11.55, 12.5), "a b c d. e"},
		{"cut words at the ends", said("a bee ce de ef", 9, 10.3, 10.8, 11.4, 11.9), said("ee ce de effort", 10.4, 10.75, 11.45, 11.85), "a bee ce de effort"},
		{"nothing in common", said("a x y", 9, 10.4, 11.4), said("p q r", 10.4, 11.4, 12.5), "a x q r"},
		{"a word twice in a row", said("one one one one", 10.1, 10.5, 10.9, 11.3), said("one one one two", 10.52, 10.92, 11.32, 12.1), "one one one one two"},
		{"a stutter", said("a three. b", 9, 10.9, 11.9), append([]Word{{Text: " three", Start: 10.87, End: 10.93}}, said("three. bee", 10.93, 11.9)...), "a three. bee"},
		{"one side silent", said("a b", 9, 10.5), nil, "a b"},
		{"the other side silent", nil, said("b c", 11.2, 12.4), "b c"},
		{"marks alone are no words", said("a — b", 9, 10.4, 10.8), said("— b c", 10.9, 11.2, 12.4), "a — b c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			leftEnd, rightStart := OverlapBorder(c.left, c.right, 10, 12)
			var got []string
			for _, w := range c.left {
				if w.Middle() < leftEnd {
					got = append(got, strings.TrimSpace(w.Text))
				}
			}
			for _, w := range c.right {
				if w.Middle() >= rightStart {
					got = append(got, strings.TrimSpace(w.Text))
				}
			}
			if want := strings.Fields(c.want); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
