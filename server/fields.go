package server

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// fields are a request's form or query fields by name. Lists are sent as "x[]", "x[0]" or "x" and kept as "x"; an
// object's members are sent as "x[member]" and kept so.
type fields map[string][]string

// knownFields are the fields that the server reads, and whether they are lists.
var knownFields = map[string]bool{
	// OpenAI's.
	"model":                    false,
	"language":                 false,
	"languages":                true,
	"keywords":                 true,
	"prompt":                   false,
	"response_format":          false,
	"temperature":              false,
	"timestamp_granularities":  true,
	"include":                  true,
	"stream":                   false,
	"chunking_strategy":        false,
	"known_speaker_names":      true,
	"known_speaker_references": true,
	// hark's own.
	"task":        false,
	"sequential":  false,
	"deadline_ms": false,
	"track":       false,
	"channels":    false,
	"strict":      false,
	"url":         false,
	"webhook":     false,
	"webhook_url": false,
}

// baseName cuts "[]" and "[member]" off a field's name.
func baseName(name string) string {
	base, _, _ := strings.Cut(name, "[")
	return base
}

// plainName is the name under which a field is kept: without "[]", and for a list without "[0]", as PHP, Rails
// and the qs package for JavaScript write it.
func plainName(name string) string {
	name = strings.TrimSuffix(name, "[]")
	base, index, _ := strings.Cut(name, "[")
	digits, ok := strings.CutSuffix(index, "]")
	if ok && digits != "" && strings.Trim(digits, "0123456789") == "" && knownFields[base] {
		return base
	}
	return name
}

// known reports whether the server reads a field, by any of its names.
func known(name string) bool {
	name = plainName(name)
	_, ok := knownFields[name]
	return ok || slices.Contains(chunkingMembers, name)
}

// add keeps a value. The values of a list stay in the order in which they came, whatever their indices say.
func (f fields) add(name, value string) {
	name = plainName(name)
	f[name] = append(f[name], value)
}

// addQuery adds the parameters of a URL where the form has none of that name.
func (f fields) addQuery(query url.Values) {
	inForm := map[string]bool{}
	for name := range f {
		if known(name) {
			inForm[baseName(name)] = true
		}
	}
	for name, values := range query {
		if !known(name) || !inForm[baseName(name)] {
			for _, v := range values {
				f.add(name, v)
			}
		}
	}
}

// unknown lists the names that the server doesn't read, sorted.
func (f fields) unknown() []string {
	var names []string
	for name := range f {
		if !known(name) {
			names = append(names, shown(name))
		}
	}
	slices.Sort(names)
	return names
}

// text returns a single field's value without the space around it, "" if it's missing.
// Two different values are an error.
func (f fields) text(name string) (string, error) {
	values := f[name]
	if len(values) == 0 {
		return "", nil
	}
	for _, v := range values[1:] {
		if v != values[0] {
			return "", badField(name, "conflicting_values", "%s is given more than once, with different values", name)
		}
	}
	return strings.TrimSpace(values[0]), nil
}

// list returns a list field's values without empty ones and without the space around
// them. One value may be a JSON array.
func (f fields) list(name string) []string {
	var all []string
	for _, v := range f.rawList(name) {
		if v = strings.TrimSpace(v); v != "" {
			all = append(all, v)
		}
	}
	return all
}

// rawList is list with its values as they were sent.
func (f fields) rawList(name string) []string {
	var all []string
	for _, v := range f[name] {
		var array []string
		if strings.HasPrefix(strings.TrimSpace(v), "[") && json.Unmarshal([]byte(v), &array) == nil {
			all = append(all, array...)
		} else {
			all = append(all, v)
		}
	}
	return all
}

// flag returns a true-or-false field; missing and empty are false.
func (f fields) flag(name string) (bool, error) {
	v, err := f.text(name)
	if err != nil || v == "" {
		return false, err
	}
	b, err := strconv.ParseBool(strings.ToLower(v))
	if err != nil {
		return false, badField(name, "invalid_value", "%s is %s, want true or false", name, quoted(v))
	}
	return b, nil
}

// quoted shows what a client sent inside a message, cut short.
func quoted(v string) string {
	const most = 40
	if len(v) > most {
		v = strings.ToValidUTF8(v[:most], "") + "…"
	}
	return strconv.Quote(v)
}

// shown is a field's name as headers, messages and the log may hold it.
func shown(name string) string {
	name = strings.NewReplacer(",", "?", `"`, "?").Replace(headerText(name))
	return name[:min(len(name), 64)]
}

// headerText is text that a header may hold: printable ASCII, not too long.
func headerText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), 256)]
}
