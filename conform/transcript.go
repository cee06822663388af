package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// transcript is a verbose_json answer.
type transcript struct {
	Language string    `json:"language"`
	Duration float64   `json:"duration"`
	Text     string    `json:"text"`
	Segments []segment `json:"segments"`
	Words    []timed   `json:"words"`
}

type segment struct {
	ID    int     `json:"id"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Text  string  `json:"text"`
}

// timed is a word with its time in the answer, in seconds.
type timed struct {
	Word  string  `json:"word"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

// verbose is the transcript of a file with its segments.
func (s *session) verbose(ctx context.Context, file upload, fields ...string) (*transcript, error) {
	a, err := s.transcribe(ctx, file, append([]string{"response_format=verbose_json"}, fields...)...)
	if err != nil {
		return nil, err
	}
	var t transcript
	return &t, a.decode(&t)
}

var wordTimes = []string{"timestamp_granularities[]=word", "timestamp_granularities[]=segment"}

// joined is the text of all segments.
func (t *transcript) joined() string {
	var b strings.Builder
	for _, g := range t.Segments {
		b.WriteString(g.Text)
	}
	return strings.TrimSpace(b.String())
}

// ordered returns an error for times that can't be: spans of no length or before the
// one before them, or beyond the end.
func (t *transcript) ordered() error {
	last := 0.0
	for i, g := range t.Segments {
		switch {
		case g.End <= g.Start:
			return fmt.Errorf("segment %d lasts from %.2f to %.2f s", i, g.Start, g.End)
		case g.Start < last-0.011:
			return fmt.Errorf("segment %d begins at %.2f s, before the one before it", i, g.Start)
		case t.Duration > 0 && g.End > t.Duration+0.011:
			return fmt.Errorf("segment %d ends at %.2f s, beyond the duration of %.2f", i, g.End, t.Duration)
		}
		last = g.Start
	}
	return nil
}

// unbroken is T1: two forms of the answer, the same words, none lost where windows meet.
func unbroken(ctx context.Context, s *session) (string, error) {
	const seconds = 120
	plain, err := s.text(ctx, s.loop(seconds))
	if err != nil {
		return "", fmt.Errorf("json: %w", err)
	}
	t, err := s.verbose(ctx, s.loop(seconds))
	if err != nil {
		return "", fmt.Errorf("verbose_json: %w", err)
	}
	if strings.TrimSpace(plain) != strings.TrimSpace(t.Text) {
		return "", fmt.Errorf("json and verbose_json differ: %q and %q", brief(plain), brief(t.Text))
	}
	if got, want := strings.Join(normal(t.joined()), " "), strings.Join(normal(t.Text), " "); got != want {
		return "", fmt.Errorf("the segments' text %q is not the text %q", brief(got), brief(want))
	}
	if err := errors.Join(s.speech.matches(plain, 0, seconds), t.ordered()); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d words, %d segments", len(normal(plain)), len(t.Segments)), nil
}

// length is T5: the answer reaches to the end, and words are where they were said.
func length(seconds float64) check {
	return func(ctx context.Context, s *session) (string, error) {
		if seconds >= 600 {
			speed, err := s.pace(ctx)
			if err != nil {
				return "", err
			}
			if need := seconds / speed; need > s.cfg.Patience.Seconds()*0.8 {
				return "", skip("it would take about %.0f minutes here: allow more with --patience", math.Ceil(need/60))
			}
		}
		t, err := s.verbose(ctx, s.loop(seconds), wordTimes...)
		if err != nil {
			return "", err
		}
		if math.Abs(t.Duration-seconds) > 0.1 {
			return "", fmt.Errorf("duration is %.2f s", t.Duration)
		}
		if len(t.Segments) == 0 {
			return "", errors.New("no segments")
		}
		end, sound := t.Segments[len(t.Segments)-1].End, s.speech.lastSound(seconds)
		if end < sound-0.5 || end > seconds+0.5 {
			return "", fmt.Errorf("the last segment ends at %.2f s, the last word at %.2f", end, sound)
		}
		drift, beacons, err := s.speech.drift(t, seconds)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("last end %.2f s, %d beacons within %.2f s", end, beacons, drift), nil
	}
}

// beacon is a word that is said once in each round of the speech.
const beacon = "train"

// drift looks for the beacon that was said closest to each full minute, and for the first one. It returns the largest
// distance from where it was said, in seconds, or an error for one that is not within half a second. An answer without
// words must have the beacon in a segment that holds its place.
func (s *speech) drift(t *transcript, seconds float64) (largest float64, beacons int, err error) {
	const allowed = 0.5
	for minute := 0.0; minute*60 < seconds; minute++ {
		at, ok := s.beaconNear(minute*60, seconds)
		if !ok {
			continue
		}
		distance := math.Inf(1)
		for _, w := range t.Words {
			if strings.Join(normal(w.Word), "") == beacon {
				distance = min(distance, math.Abs(w.Start-at))
			}
		}
		if len(t.Words) == 0 {
			distance = t.distance(beacon, at)
		}
		if distance > allowed {
			return 0, 0, fmt.Errorf("%q of %.2f s is not there, the nearest is %.2f s away", beacon, at, distance)
		}
		largest = max(largest, distance)
		beacons++
	}
	return largest, beacons, nil
}

// distance is how far the nearest segment with a word lies from a time, in seconds.
func (t *transcript) distance(word string, at float64) float64 {
	nearest := math.Inf(1)
	for _, g := range t.Segments {
		if strings.Contains(" "+strings.Join(normal(g.Text), " ")+" ", " "+word+" ") {
			nearest = min(nearest, max(0, g.Start-at, at-g.End))
		}
	}
	return nearest
}

// beaconNear is the start of the beacon said closest to a time and before an end.
func (s *speech) beaconNear(at, end float64) (start float64, ok bool) {
	nearest := math.Inf(1)
	for _, w := range s.said(max(0, at-s.seconds()), min(end, at+s.seconds())) {
		if w.word == beacon && math.Abs(w.start-at) < nearest {
			nearest, start, ok = math.Abs(w.start-at), w.start, true
		}
	}
	return start, ok
}

// short is T16: audio of next to nothing is answered, in its place or not at all, never with an error of the server's.
func short(samples int) check {
	return func(ctx context.Context, s *session) (string, error) {
		a, err := s.post(ctx, s.form(plain(s.speech.cut(0.3, 2)[:samples])))
		if err != nil {
			return "", err
		}
		if a.status == 400 && samples == 0 {
			_, err := apiErrorOf(a)
			return a.String(), err
		}
		var v struct{ Text *string }
		if a.status != 200 || json.Unmarshal(a.body, &v) != nil || v.Text == nil {
			return "", fmt.Errorf("%s", a)
		}
		const fastest = 7 // words a second
		if most := 1 + fastest*samples/sampleRate; len(normal(*v.Text)) > most {
			return "", fmt.Errorf("more is heard than can be said in it: %q", brief(*v.Text))
		}
		return a.String(), nil
	}
}

// lastWordSeconds is where the last word of the speech begins.
const lastWordSeconds = 12.55

// oneWord is T16: a word of half a second is heard.
func oneWord(ctx context.Context, s *session) (string, error) {
	text, err := s.text(ctx, plain(s.speech.cut(lastWordSeconds, 13.1)))
	if err == nil && strings.Join(normal(text), " ") != "talking" {
		err = fmt.Errorf("%q", text)
	}
	return text, err
}
