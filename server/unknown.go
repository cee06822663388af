package server

import (
	"slices"
	"strings"
)

// maxNamed is how many unknown fields are named at most.
const maxNamed = 16

// unknownFields refuses fields that nobody reads. The error's param is the first.
func unknownFields(names []string) *apiError {
	return badField(names[0], "unknown_parameter", "with strict=true every field must be known, and these are not: %s", strings.Join(withGuesses(names), ", "))
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
func closest(name string) (meant string) {
	if _, ok := knownFields[baseName(name)]; ok {
		return "" // in another form
	}
	name = strings.ToLower(strings.ReplaceAll(baseName(name), "-", "_"))
	best := 1 + len(name)/4 // a slip in four letters
	for _, known := range sortedFields {
		if d := editDistance(name, known); d <= best && (meant == "" || d < best) {
			meant, best = known, d
		}
	}
	return meant
}

// sortedFields are the names of the known fields.
var sortedFields = func() (names []string) {
	for name := range knownFields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// editDistance is the least number of letters to put in, leave out or change that makes one name of another (Levenshtein's).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for k := range len(b) {
			cost := 1
			if a[i] == b[k] {
				cost = 0
			}
			diagonal, row[k+1] = row[k+1], min(diagonal+cost, row[k]+1, row[k+1]+1)
		}
	}
	return row[len(b)]
}
