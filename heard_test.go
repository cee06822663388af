package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptHeard holds stdout to the sample's text said some times over. One word in ten may be misheard, but no more than
// two in a row may be missing or too many: that would be a stretch lost, or said twice, where windows meet.
func scriptHeard(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: heard N")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	sample, err := os.ReadFile(ts.Getenv("SAMPLE_TEXT"))
	ts.Check(err)
	want := words(strings.Repeat(string(sample)+" ", n))
	got := words(ts.ReadFile("stdout"))
	errors, missing, added := compareWords(want, got)
	if errors > len(want)/10 || missing > 2 || added > 2 {
		ts.Fatalf("%d of %d words are wrong, up to %d in a row are missing, up to %d added: %s",
			errors, len(want), missing, added, strings.Join(got, " "))
	}
}

var notWord = regexp.MustCompile(`[^a-z']+`)

// words are the words of a text in lower case, without punctuation.
func words(text string) []string {
	return strings.Fields(notWord.ReplaceAllString(strings.ToLower(text), " "))
}

// compareWords returns the least number of words to change, leave out or add to get from want to got, and the longest
// stretches left out and added on that way.
func compareWords(want, got []string) (errors, missing, added int) {
	cost := make([][]int, len(want)+1)
	for i := range cost {
		cost[i] = make([]int, len(got)+1)
		for j := range cost[i] {
			switch {
			case i == 0:
				cost[i][j] = j
			case j == 0:
				cost[i][j] = i
			default:
				cost[i][j] = min(cost[i-1][j-1]+differ(want[i-1], got[j-1]), cost[i-1][j]+1, cost[i][j-1]+1)
			}
		}
	}
	out, in := 0, 0
	for i, j := len(want), len(got); i > 0 || j > 0; {
		switch {
		case i > 0 && j > 0 && cost[i][j] == cost[i-1][j-1]+differ(want[i-1], got[j-1]):
			i, j, out, in = i-1, j-1, 0, 0
		case i > 0 && cost[i][j] == cost[i-1][j]+1:
			i, out, in = i-1, out+1, 0
		default:
			j, out, in = j-1, 0, in+1
		}
		missing, added = max(missing, out), max(added, in)
	}
	return cost[len(want)][len(got)], missing, added
}

func differ(a, b string) int {
	if a == b {
		return 0
	}
	return 1
}

func TestCompareWords(t *testing.T) {
	for _, c := range []struct {
		want, got              string
		errors, missing, added int
	}{
		{"a b c", "a b c", 0, 0, 0},
		{"a b c", "a x c", 1, 0, 0},
		{"a b c d e", "a e", 3, 3, 0},
		{"a b", "a x y b", 2, 0, 2},
		{"", "a b", 2, 0, 2},
		{"a b", "", 2, 2, 0},
	} {
		errors, missing, added := compareWords(words(c.want), words(c.got))
		if errors != c.errors || missing != c.missing || added != c.added {
			t.Errorf("%q to %q: got %d errors, %d missing, %d added, want %d, %d, %d", c.want, c.got, errors, missing, added, c.errors, c.missing, c.added)
		}
	}
}
