package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printable returns text for a terminal or a log: what is not UTF-8, and what a terminal would obey instead of show, is
// written as Go writes it in a string (\xe4, \x1b). Line breaks and tabs stay.
func printable(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case r == '\n' || r == '\t' || !unicode.IsControl(r):
			out.WriteString(text[:n])
		default:
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[n:]
	}
	return out.String()
}
