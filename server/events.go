package server

import (
	"strings"
	"unicode"

	"hark/engine"
)

// transcriptEvents makes the events of a stream of what is heard, each a JSON object with its "type", as OpenAI's API
// has them: transcript.text.delta for every segment that says something, in what was asked for with segments
// transcript.text.segment behind it, and transcript.text.done in the end. The deltas joined are the text of the last.
// The same segments give the same events, however they come.
type transcriptEvents struct {
	format   Format
	detail   Detail
	task     engine.Task
	clock    clock
	segments int    // so far
	begun    bool   // something was said
	space    string // at the end of what was heard, which the text may end without
}

// newTranscriptEvents begins the events of one transcript, of audio of the given length in seconds.
func newTranscriptEvents(v *wishes, duration float64) *transcriptEvents {
	return &transcriptEvents{format: v.format, detail: v.detail(), task: v.options.Task, clock: newClock(duration)}
}

// textDelta is more of the text.
type textDelta struct {
	Type      string       `json:"type"` // "transcript.text.delta"
	Delta     string       `json:"delta"`
	LogProbs  *[]jsonToken `json:"logprobs,omitempty"`
	SegmentID string       `json:"segment_id,omitempty"` // in diarized_json
}

// heard makes the events of segments, in the order of [Input.Heard].
func (e *transcriptEvents) heard(segments []engine.Segment) (events [][]byte, err error) {
	for i := range segments {
		for _, event := range e.segment(segments[i : i+1]) {
			text, err := marshal(event)
			if err != nil {
				return nil, err
			}
			events = append(events, text)
		}
	}
	return events, nil
}

// segment makes the events of one segment.
func (e *transcriptEvents) segment(one []engine.Segment) (events []any) {
	if text := e.grow(one[0].Text); text != "" {
		delta := textDelta{Type: "transcript.text.delta", Delta: text}
		if e.detail.LogProbs {
			delta.LogProbs = logProbs(one)
		}
		if e.format == DiarizedJSON {
			delta.SegmentID = segmentID(e.segments)
		}
		events = append(events, delta)
	}
	if e.format == DiarizedJSON || e.format == VerboseJSON && e.detail.Segments {
		segment := diarizedSegments(one, e.segments, e.clock)[0]
		if e.format != DiarizedJSON {
			segment.Speaker = one[0].Speaker
		}
		events = append(events, segment)
	}
	e.segments++
	return events
}

// grow is what a segment adds to the text, which begins and ends without space.
func (e *transcriptEvents) grow(text string) string {
	text = e.space + text
	if !e.begun {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	said := strings.TrimRightFunc(text, unicode.IsSpace)
	e.space = text[len(said):]
	e.begun = e.begun || said != ""
	return said
}

// textDone is the end of a stream. Beyond OpenAI's it has what the same call without a stream would have answered.
type textDone struct {
	Type      string         `json:"type"` // "transcript.text.done"
	Text      string         `json:"text"`
	Languages []jsonLanguage `json:"languages,omitempty"`
	LogProbs  *[]jsonToken   `json:"logprobs,omitempty"`
	Language  string         `json:"language,omitempty"` // verbose_json's, as is what follows
	Duration  *float64       `json:"duration,omitempty"`
	Segments  any            `json:"segments,omitempty"`
	Words     *[]jsonWord    `json:"words,omitempty"`
	Usage     usage          `json:"usage"`
}

// done makes the last event.
func (e *transcriptEvents) done(t *Transcript, d dialect) ([]byte, error) {
	c := newClock(t.Duration)
	event := textDone{Type: "transcript.text.done", Text: t.Result.Text(),
		Languages: languages(t.Result.Language, t.Task), Usage: durationUsage(c)}
	if e.detail.LogProbs {
		event.LogProbs = logProbs(t.Result.Segments)
	}
	switch e.format {
	case VerboseJSON:
		v := verboseAs(t, e.detail, d)
		event.Language, event.Duration, event.Words = v.Language, &v.Duration, v.Words
		if v.Segments != nil {
			event.Segments = v.Segments
		}
	case DiarizedJSON:
		event.Duration, event.Segments = &c.duration, diarizedSegments(t.Result.Segments, 0, c)
	}
	return marshal(event)
}
