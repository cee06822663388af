package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// preference returns the value of one of a request's preferences (RFC 7240, section 2), and whether it has it.
func preference(r *http.Request, name string) (value string, ok bool) {
	for _, line := range r.Header.Values("Prefer") {
		for preference := range strings.FieldsFuncSeq(line, func(c rune) bool { return c == ',' || c == ';' }) {
			token, value, _ := strings.Cut(preference, "=")
			if strings.EqualFold(strings.TrimSpace(token), name) {
				return strings.Trim(strings.TrimSpace(value), `"`), true
			}
		}
	}
	return "", false
}

// prefersAsync reports whether a client would rather be answered at once and fetch the
// result later (RFC 7240, section 4.1).
func prefersAsync(r *http.Request) bool {
	_, ok := preference(r, "respond-async")
	return ok
}

// maxWait is the longest that a job is waited for: what the official clients wait for any answer.
const maxWait = 10 * time.Minute

// preferredWait is how long a client would rather wait for a job's result than be told
// where it will be (RFC 7240, section 4.3).
func preferredWait(r *http.Request) time.Duration {
	text, _ := preference(r, "wait")
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // where that is it, seconds is the most there is
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxWait)
}

// waitApplied is the preference as the answer says that it was followed.
func waitApplied(wait time.Duration) string { return fmt.Sprintf("wait=%d", int(wait.Seconds())) }
