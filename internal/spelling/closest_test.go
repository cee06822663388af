package spelling

import "testing"

func TestClosest(t *testing.T) {
	known := []string{"base", "base.en", "large-v3", "tiny", "tiny.en"}
	for name, want := range map[string]string{
		"tiny-en": "tiny.en", "tinyen": "tiny.en", "tiny.en": "tiny.en", "tiyn": "tiny", "bases": "base", "large3": "large-v3",
		"": "", "x": "", "whisper-1": "", "medium": "",
	} {
		if got := Closest(name, known); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 2}, {"same", "same", 0}} {
		if got, back := distance(c.a, c.b), distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q and %q: got %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
