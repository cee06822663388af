package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// shape is the check of one response_format over the clip.
func shape(look func(s *session, a *answer) error, fields ...string) check {
	return func(ctx context.Context, s *session) (string, error) {
		a, err := s.transcribe(ctx, s.clip(), fields...)
		if err == nil {
			err = look(s, a)
		}
		if err != nil {
			return "", err
		}
		return a.String(), nil
	}
}

// object reads a JSON object and checks its content type: clients go by that.
func object(a *answer) (map[string]any, error) {
	if t := a.header.Get("Content-Type"); !strings.HasPrefix(t, "application/json") {
		return nil, fmt.Errorf("the content type is %q", t)
	}
	var o map[string]any
	return o, a.decode(&o)
}

func jsonShape(s *session, a *answer) error {
	o, err := object(a)
	if err != nil {
		return err
	}
	text, ok := o["text"].(string)
	if !ok {
		return fmt.Errorf("%s: text is not a string", a)
	}
	for _, key := range []string{"segments", "words"} {
		if _, there := o[key]; there {
			return fmt.Errorf("%s: json has %s, as only verbose_json should", a, key)
		}
	}
	return s.speech.matches(text, 0, clipSeconds)
}

func textShape(s *session, a *answer) error {
	if t := a.header.Get("Content-Type"); !strings.HasPrefix(t, "text/plain") {
		return fmt.Errorf("the content type is %q", t)
	}
	if json.Valid(a.body) {
		return fmt.Errorf("%s is JSON", a)
	}
	return s.speech.matches(string(a.body), 0, clipSeconds)
}

// verboseShape checks verbose_json, with or without words.
func verboseShape(words bool, segments bool) func(s *session, a *answer) error {
	return func(s *session, a *answer) error {
		o, err := object(a)
		if err != nil {
			return err
		}
		if seconds, ok := o["duration"].(float64); !ok || math.Abs(seconds-clipSeconds) > 0.1 {
			return fmt.Errorf("duration is %#v, want the number %v", o["duration"], clipSeconds)
		}
		if language, ok := o["language"].(string); !ok || language != "english" {
			return fmt.Errorf("language is %#v, want \"english\"", o["language"])
		}
		_, hasWords := o["words"]
		if hasWords != words {
			return fmt.Errorf("words are there: %t, asked for: %t", hasWords, words)
		}
		var t transcript
		if err := a.decode(&t); err != nil {
			return err
		}
		if segments {
			if err := errors.Join(segmentKeys(o["segments"]), t.ordered()); err != nil {
				return err
			}
		}
		if words {
			if err := t.wordsInOrder(); err != nil {
				return err
			}
		}
		return s.speech.matches(t.Text, 0, clipSeconds)
	}
}

// segmentKeys checks that each segment has all that clients read without looking.
func segmentKeys(v any) error {
	list, _ := v.([]any)
	if len(list) == 0 {
		return fmt.Errorf("segments is %v", v)
	}
	for i, v := range list {
		g, _ := v.(map[string]any)
		for _, key := range []string{"id", "seek", "start", "end", "temperature", "avg_logprob",
			"compression_ratio", "no_speech_prob"} {
			if _, ok := g[key].(float64); !ok {
				return fmt.Errorf("segment %d: %s is %#v, want a number", i, key, g[key])
			}
		}
		if _, ok := g["text"].(string); !ok {
			return fmt.Errorf("segment %d: text is %#v", i, g["text"])
		}
		if _, ok := g["tokens"].([]any); !ok {
			return fmt.Errorf("segment %d: tokens is %#v, want a list", i, g["tokens"])
		}
		if g["id"].(float64) != float64(i) {
			return fmt.Errorf("segment %d has id %v", i, g["id"])
		}
	}
	return nil
}

// wordsInOrder checks the words' times.
func (t *transcript) wordsInOrder() error {
	if len(t.Words) == 0 {
		return errors.New("words is empty")
	}
	last := 0.0
	for _, w := range t.Words {
		if w.Word == "" || w.End < w.Start || w.Start < last-0.011 || w.End > t.Duration+0.011 {
			return fmt.Errorf("word %q from %.2f to %.2f s, after one of %.2f, in %.2f s", w.Word,
				w.Start, w.End, last, t.Duration)
		}
		last = w.Start
	}
	return nil
}

// diarizedShape is diarized_json: its shape, or a refusal that names the field.
func diarizedShape(ctx context.Context, s *session) (string, error) {
	a, err := s.post(ctx, s.form(s.clip(), "response_format=diarized_json"))
	if err != nil {
		return "", err
	}
	if a.status != http.StatusOK {
		return refused(a, "response_format", http.StatusBadRequest)
	}
	var v struct {
		Text     *string
		Segments []struct{ Type, ID, Speaker, Text string }
	}
	if err := a.decode(&v); err != nil {
		return "", err
	}
	if v.Text == nil || len(v.Segments) == 0 {
		return "", fmt.Errorf("%s: no text or no segments", a)
	}
	for _, g := range v.Segments {
		if g.Type != "transcript.text.segment" || g.ID == "" || g.Speaker == "" {
			return "", fmt.Errorf("%s: a segment without type, id or speaker", a)
		}
	}
	return a.String(), nil
}

// cue is one subtitle; times are in seconds.
type cue struct {
	start, end float64
	text       string
}

var (
	srtTimes = regexp.MustCompile(`^(\d\d):(\d\d):(\d\d),(\d{3}) --> (\d\d):(\d\d):(\d\d),(\d{3})$`)
	vttTimes = regexp.MustCompile(`^(?:(\d\d+):)?(\d\d):(\d\d)\.(\d{3}) --> (?:(\d\d+):)?(\d\d):(\d\d)\.(\d{3})$`)
)

// cues reads subtitles strictly. numbered demands SRT's numbers from 1.
func cues(body string, times *regexp.Regexp, numbered bool) ([]cue, error) {
	var out []cue
	for _, block := range strings.Split(strings.TrimSpace(strings.ReplaceAll(body, "\r\n", "\n")), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		if numbered {
			if lines[0] != strconv.Itoa(len(out)+1) {
				return nil, fmt.Errorf("cue %d begins with %q", len(out)+1, brief(lines[0]))
			}
			lines = lines[1:]
		}
		if len(lines) < 2 {
			return nil, fmt.Errorf("cue %d has no text: %q", len(out)+1, brief(block))
		}
		m := times.FindStringSubmatch(lines[0])
		if m == nil {
			return nil, fmt.Errorf("cue %d has the times %q", len(out)+1, brief(lines[0]))
		}
		if len(lines) > 2 {
			return nil, fmt.Errorf("cue %d is wrapped, which nobody asked for", len(out)+1)
		}
		out = append(out, cue{clock(m[1:5]), clock(m[5:9]), lines[1]})
	}
	return out, nil
}

// clock is a time of four groups, in seconds.
func clock(m []string) float64 {
	var t float64
	for _, part := range m[:3] {
		n, _ := strconv.ParseFloat(part, 64)
		t = t*60 + n
	}
	ms, _ := strconv.ParseFloat(m[3], 64)
	return t + ms/1000
}

func srtShape(s *session, a *answer) error {
	list, err := cues(string(a.body), srtTimes, true)
	if err != nil {
		return fmt.Errorf("%w: %s", err, a)
	}
	return s.subtitles(list)
}

func vttShape(s *session, a *answer) error {
	rest, ok := strings.CutPrefix(string(a.body), "WEBVTT\n")
	if !ok {
		return fmt.Errorf("%s does not begin with WEBVTT", a)
	}
	list, err := cues(rest, vttTimes, false)
	if err != nil {
		return fmt.Errorf("%w: %s", err, a)
	}
	return s.subtitles(list)
}

// subtitles checks the cues of the clip.
func (s *session) subtitles(list []cue) error {
	t := transcript{Duration: clipSeconds}
	for i, c := range list {
		t.Segments = append(t.Segments, segment{i, c.start, c.end, " " + c.text})
	}
	return errors.Join(t.ordered(), s.speech.matches(t.joined(), 0, clipSeconds))
}
