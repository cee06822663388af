package models

import (
	"strings"
	"unicode/utf8"
)

// replaceInvalid returns the text of raw with one U+FFFD for each maximal part
// of a character that is not valid UTF-8, as the Unicode Standard advises
// (section 3.9, "U+FFFD Substitution of Maximal Subparts") and Python does. Go
// itself would put one for each byte.
func replaceInvalid(raw []byte) string {
	if utf8.Valid(raw) {
		return string(raw)
	}
	var text strings.Builder
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if r == utf8.RuneError && n == 1 {
			n = maximalSubpart(raw)
		}
		text.WriteRune(r)
		raw = raw[n:]
	}
	return text.String()
}

// maximalSubpart returns how many bytes at the start of raw, which are not a
// character, begin one: 1, or up to 3 when a character is cut off. The bounds
// of the second byte are table 3-7 of the Unicode Standard.
func maximalSubpart(raw []byte) int {
	low, high, need := byte(0x80), byte(0xbf), 0
	switch lead := raw[0]; {
	case 0xc2 <= lead && lead <= 0xdf:
		need = 1
	case 0xe0 <= lead && lead <= 0xef:
		need = 2
		switch lead {
		case 0xe0:
			low = 0xa0
		case 0xed:
			high = 0x9f
		}
	case 0xf0 <= lead && lead <= 0xf4:
		need = 3
		switch lead {
		case 0xf0:
			low = 0x90
		case 0xf4:
			high = 0x8f
		}
	}
	n := 1
	for n <= need && n < len(raw) && low <= raw[n] && raw[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}
