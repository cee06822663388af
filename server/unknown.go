package server

import (
	"slices"
	"strings"

	"hark/internal/spelling"
)

// maxNamed is how many unknown fields are named at most.
const maxNamed = 16

// unknownFields refuses fields that nobody reads. The error's param is the first.
func unknownFields(names []string) *apiError {
	return badField(names[0], "unknown_parameter", "with strict=true every field must be known, and these are not: %s",
		strings.Join(withGuesses(names), ", "))
}

// withGuesses are names, each with the one that may have been meant.
func withGuesses(names []string) []string {
	guesses := make([]string, min(len(names), maxNamed))
	for i := range guesses {
		guesses[i] = names[i]
		if meant := closest(names[i]); meant != "" {
			guesses[i] += " (did you mean " + meant + "?)"
		}
	}
	return guesses
}

// closest is the known field that a name is nearest to, or "" where none is near.
func closest(name string) string {
	if _, ok := knownFields[baseName(name)]; ok {
		return "" // in another form
	}
	return spelling.Closest(strings.ToLower(strings.ReplaceAll(baseName(name), "-", "_")), sortedFields)
}

// sortedFields are the names of the known fields.
var sortedFields = func() (names []string) {
	for name := range knownFields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()
