package conform

import (
	"fmt"
	"regexp"
	"strings"
)

// maxMissing is how many words in a row may be missing or added: more is a stretch
// lost, or said twice, where windows meet.
const maxMissing = 2

// matches returns an error for a text that is not what was said, apart from some words misheard.
func matches(text, said string) error {
	want, got := normal(said), normal(text)
	wrong, missing, added := compareWords(want, got)
	if wrong > (len(want)+6)/7 || missing > maxMissing || added > maxMissing {
		return fmt.Errorf("%d of %d words wrong, up to %d in a row missing, up to %d added: %q", wrong, len(want),
			missing, added, brief(text))
	}
	return nil
}

// alike returns an error for a text that differs from another by more than the loss of a codec explains.
func alike(text, other string) error {
	if err := matches(text, other); err != nil {
		return fmt.Errorf("%w instead of %q", err, brief(other))
	}
	return nil
}

var notWord = regexp.MustCompile(`[^\p{L}\p{N}']+`)

// numerals are the figures that models write for words of the speech.
var numerals = map[string]string{"9": "nine", "900": "nine", "1": "one"}

// normal are the words of a text in lower case, without punctuation.
func normal(text string) []string {
	words := strings.Fields(notWord.ReplaceAllString(strings.ToLower(text), " "))
	for i, w := range words {
		if spelled, ok := numerals[w]; ok {
			words[i] = spelled
		}
	}
	return words
}

// compareWords returns the least number of words to change, leave out or add to get from want to got, and the longest
// stretches left out and added on that way. It takes time and memory as the product of the lengths.
func compareWords(want, got []string) (wrong, missing, added int) {
	cost := make([][]int32, len(want)+1)
	for i := range cost {
		cost[i] = make([]int32, len(got)+1)
		for j := range cost[i] {
			switch {
			case i == 0:
				cost[i][j] = int32(j)
			case j == 0:
				cost[i][j] = int32(i)
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
	return int(cost[len(want)][len(got)]), missing, added
}

func differ(a, b string) int32 {
	if a == b {
		return 0
	}
	return 1
}

// repeated returns three words that a text says in a row at least three times over, or
// "": the loop that models fall into.
func repeated(text string) string {
	words := normal(text)
	count := map[string]int{}
	for i := 0; i+3 <= len(words); i++ {
		three := strings.Join(words[i:i+3], " ")
		if count[three]++; count[three] == 3 {
			return three
		}
	}
	return ""
}
