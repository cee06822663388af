package conform

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// T18's recording: the same sentence three times, with silence between.
var (
	sentenceStarts  = []float64{5, 25, 70} // seconds
	sentenceSeconds = 2.65
	pausesSeconds   = 75.0
)

// sentence is where the first sentence of the speech begins, in seconds.
const sentence = 0.18

// threeSentences is the recording of T18.
func (s *speech) threeSentences() []int16 {
	out := silence(pausesSeconds)
	for _, start := range sentenceStarts {
		copy(out[int(start*sampleRate):], s.cut(sentence, sentence+sentenceSeconds))
	}
	return out
}

// atTheirPlaces returns an error unless spans begin where the sentences do, and none reaches far into a silence.
// A sentence may be cut into several spans.
func atTheirPlaces(spans []cue) error {
	const most, off = 2.0, 0.3
	if len(spans) < len(sentenceStarts) {
		return fmt.Errorf("%d spans for %d sentences", len(spans), len(sentenceStarts))
	}
	for _, c := range spans {
		heard := 0.0
		for _, start := range sentenceStarts {
			heard += max(0, min(c.end, start+sentenceSeconds)-max(c.start, start))
		}
		if silent := c.end - c.start - heard; silent > most {
			return fmt.Errorf("%q from %.2f to %.2f s holds %.1f s of silence", brief(c.text), c.start, c.end, silent)
		}
	}
	for _, start := range sentenceStarts {
		nearest := math.Inf(1)
		for _, c := range spans {
			nearest = min(nearest, math.Abs(c.start-start))
		}
		if nearest > off {
			return fmt.Errorf("nothing begins within %.1f s of %.1f s: the nearest is %.2f s away", off, start, nearest)
		}
	}
	return nil
}

// pausedCues is T18 by subtitles.
func pausedCues(ctx context.Context, s *session) (string, error) {
	a, err := s.transcribe(ctx, plain(s.speech.threeSentences()), "response_format=srt")
	if err != nil {
		return "", err
	}
	list, err := cues(string(a.body), srtTimes, true)
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, a)
	}
	return spansOf(list), atTheirPlaces(list)
}

// pausedWords is T18 by words. Each is a span, and none of them is long.
func pausedWords(ctx context.Context, s *session) (string, error) {
	t, err := s.verbose(ctx, plain(s.speech.threeSentences()), wordTimes...)
	if err != nil {
		return "", err
	}
	var list []cue
	for _, w := range t.Words {
		list = append(list, cue{w.Start, w.End, w.Word})
	}
	return spansOf(list), atTheirPlaces(list)
}

// spansOf shows spans in one line.
func spansOf(list []cue) string {
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprintf("%.2f–%.2f", c.start, c.end))
	}
	return brief(strings.Join(out, " "))
}
