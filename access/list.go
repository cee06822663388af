package access

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxListBytes bounds a list: some ten thousand keys.
const maxListBytes = 1 << 20

// maxNameBytes bounds a caller's name.
const maxNameBytes = 64

// ErrNoKeys says that a list holds no key. It's an error since a server without keys is open to all.
var ErrNoKeys = errors.New("no keys")

// Line returns a line of a list.
func Line(name, key string, l Limits) string {
	line := name + ":" + key
	if limits := l.String(); limits != "" {
		line += " " + limits
	}
	return line
}

// CheckName returns why a text can't be a caller's name, or nil.
func CheckName(name string) error {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-@", c)
	}
	if name == "" || len(name) > maxNameBytes || strings.ContainsFunc(name, func(c rune) bool { return !plain(c) }) {
		return fmt.Errorf("a name has 1 to %d letters, digits, and . _ - @", maxNameBytes)
	}
	return nil
}

// list is what was read: each key's hash with its caller's name, and each caller's limits.
type list struct {
	keys   []listed
	limits map[string]Limits
}

type listed struct {
	hash hash
	name string
}

// parseList reads lines; errors give the number of the line and never a key.
func parseList(r io.Reader) (*list, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxListBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxListBytes:
		return nil, fmt.Errorf("longer than %d bytes", maxListBytes)
	}
	l := &list{limits: map[string]Limits{}}
	first := map[string]int{} // each caller's first line
	owner := map[hash]int{}   // each key's line
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if i == 0 {
			line = strings.TrimPrefix(line, "\ufeff") // as some editors begin a file
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, limits, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		if at, ok := owner[key.hash]; ok {
			return nil, fmt.Errorf("line %d: the key of line %d once more", i+1, at)
		}
		owner[key.hash] = i + 1
		if at, ok := first[key.name]; !ok {
			first[key.name] = i + 1
			l.limits[key.name] = limits
		} else if limits != l.limits[key.name] {
			return nil, fmt.Errorf("line %d: %s has other limits on line %d: a caller's keys share them", i+1, key.name, at)
		}
		l.keys = append(l.keys, key)
	}
	if len(l.keys) == 0 {
		return nil, ErrNoKeys
	}
	return l, nil
}

// parseLine reads NAME:KEY and limits.
func parseLine(line string) (k listed, l Limits, err error) {
	words := strings.Fields(line)
	name, key, ok := strings.Cut(words[0], ":")
	if !ok {
		return k, l, errors.New("want NAME:KEY, the caller's name before the key")
	}
	if err := CheckName(name); err != nil {
		return k, l, err
	}
	k.name = name
	if k.hash, err = parseKey(key); err != nil {
		return k, l, fmt.Errorf("%s: %w", name, err)
	}
	if l, err = ParseLimits(words[1:]); err != nil {
		return k, l, fmt.Errorf("%s: %w", name, err)
	}
	return k, l, nil
}
