package access

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hark/batcher"
)

// Limits are what a caller may ask for; the zero value of each field is no limit.
type Limits struct {
	// RequestsPerMinute is how many requests may begin.
	RequestsPerMinute int
	// AudioPerMinute and AudioPerHour are how much audio may be transcribed; either or both may be set.
	AudioPerMinute, AudioPerHour time.Duration
	// Concurrent is how many requests may be under way at once.
	Concurrent int
	// Weight is how much of the device the caller gets, in proportion to the others that wait; it's
	// no limit, but given as one. Zero means 1.
	Weight float64
}

// Most of each limit, far beyond any use: it keeps sums within their types.
const (
	maxCount = 1_000_000
	maxAudio = 10_000 * time.Hour
)

// limitNames are the words of a list, in the order in which messages give them.
var limitNames = []string{"rpm", "audio-per-minute", "audio-per-hour", "concurrent", "weight"}

// ParseLimits reads NAME=VALUE words: rpm=60 audio-per-minute=10m audio-per-hour=2h concurrent=4.
func ParseLimits(words []string) (Limits, error) {
	var l Limits
	seen := map[string]bool{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return l, fmt.Errorf("%q is no limit: want NAME=VALUE with one of %s", word, strings.Join(limitNames, ", "))
		}
		if seen[name] {
			return l, fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
		var err error
		switch name {
		case "rpm":
			l.RequestsPerMinute, err = parseCount(value)
		case "concurrent":
			l.Concurrent, err = parseCount(value)
		case "audio-per-minute":
			l.AudioPerMinute, err = parseAudio(value)
		case "audio-per-hour":
			l.AudioPerHour, err = parseAudio(value)
		case "weight":
			l.Weight, err = parseWeight(value)
		default:
			err = fmt.Errorf("unknown limit, want one of %s", strings.Join(limitNames, ", "))
		}
		if err != nil {
			return l, fmt.Errorf("%s: %w", name, err)
		}
	}
	return l, nil
}

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxCount {
		return 0, fmt.Errorf("%q, want a number from 1 to %d", text, maxCount)
	}
	return n, nil
}

func parseAudio(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > maxAudio {
		return 0, fmt.Errorf("%q, want a length from 1s, such as 90s, 10m or 2h", text)
	}
	return d, nil
}

func parseWeight(text string) (float64, error) {
	w, err := strconv.ParseFloat(text, 64)
	if err != nil || !(w >= batcher.MinWeight && w <= batcher.MaxWeight) {
		return 0, fmt.Errorf("%q, want a number from %v to %v", text, batcher.MinWeight, batcher.MaxWeight)
	}
	return w, nil
}

// String writes l as ParseLimits reads it; "" for no limits.
func (l Limits) String() string {
	var words []string
	add := func(name, value string, set bool) {
		if set {
			words = append(words, name+"="+value)
		}
	}
	add("rpm", strconv.Itoa(l.RequestsPerMinute), l.RequestsPerMinute > 0)
	add("audio-per-minute", l.AudioPerMinute.String(), l.AudioPerMinute > 0)
	add("audio-per-hour", l.AudioPerHour.String(), l.AudioPerHour > 0)
	add("concurrent", strconv.Itoa(l.Concurrent), l.Concurrent > 0)
	add("weight", strconv.FormatFloat(l.Weight, 'g', -1, 64), l.Weight > 0)
	return strings.Join(words, " ")
}

// Kind is what a limit counts.
type Kind string

// The kinds of limits.
const (
	Requests   Kind = "requests"
	Audio      Kind = "audio"
	Concurrent Kind = "concurrent"
)

// LimitError says that a caller has reached a limit.
type LimitError struct {
	Kind Kind
	// Limit is what is allowed, in words: "60 requests a minute".
	Limit string
	// Wait is when a place will come; 0 where that hangs on the caller's own requests.
	Wait time.Duration
}

// Error names the limit.
func (e *LimitError) Error() string {
	if e.Wait == 0 {
		return "access: at the limit of " + e.Limit
	}
	return fmt.Sprintf("access: at the limit of %s for another %v", e.Limit, e.Wait.Round(time.Millisecond))
}

// Standing is what a caller has left of a limit.
type Standing struct {
	// Limit and Remaining are requests, or seconds of audio.
	Limit, Remaining int
	// Reset is when all of it will be there again.
	Reset time.Duration
}

// tighter orders standings by what is left, as a part of the whole, then by what is left.
func tighter(a, b Standing) int {
	return cmp.Or(cmp.Compare(a.Remaining*b.Limit, b.Remaining*a.Limit), cmp.Compare(a.Remaining, b.Remaining))
}
