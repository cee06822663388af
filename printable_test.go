package main

import "testing"

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"größer 大きい.wav: no such file\n\tnext", "größer 大きい.wav: no such file\n\tnext"},
		{"o\xe4.wav", `o\xe4.wav`},
		{"\xe4\xb8", `\xe4\xb8`},
		{"red \x1b[31m", `red \x1b[31m`},
		{"a\rb\u009b", `a\rb\u009b`},
		{"\uFFFD", "\uFFFD"},
	} {
		if got := printable(c.text); got != c.want {
			t.Errorf("printable(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}
