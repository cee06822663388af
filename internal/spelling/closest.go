// Package spelling finds the name that somebody may have meant who wrote one that there isn't.
package spelling

// Closest is the known name that a name is nearest to, the first of several, or "" where none is near: one slip is
// forgiven, and one more for every four letters.
func Closest(name string, known []string) (meant string) {
	best := 1 + len(name)/4
	for _, k := range known {
		if d := distance(name, k); d <= best && (meant == "" || d < best) {
			meant, best = k, d
		}
	}
	return meant
}

// distance is the least number of letters to put in, leave out or change that makes
// one name of another (Levenshtein's).
func distance(a, b string) int {
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
