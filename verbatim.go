package main

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// verbatim puts a value into a string field byte for byte. Kong's own way leads through JSON, which replaces what is
// not UTF-8, but a Unix file name may be any bytes.
func verbatim(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	target.SetString(fmt.Sprint(token.Value))
	return nil
}

// modelNames is a flag for models: given several times, or separated by commas.
type modelNames []string

// Decode appends the names in one value, byte for byte. A comma in a name is written \, there.
func (m *modelNames) Decode(ctx *kong.DecodeContext) error {
	token, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	var name []byte
	value := fmt.Sprint(token.Value)
	for i := 0; i < len(value); i++ {
		switch {
		case value[i] == ',':
			*m = append(*m, string(name))
			name = nil
			continue
		case strings.HasPrefix(value[i:], `\,`):
			i++
		}
		name = append(name, value[i])
	}
	*m = append(*m, string(name))
	return nil
}

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
