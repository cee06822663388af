package server

import (
	"fmt"
	"strconv"
	"strings"

	"hark/engine"
)

// diarizedTranscript is OpenAI's diarized_json.
type diarizedTranscript struct {
	Task     string            `json:"task"`
	Duration float64           `json:"duration"`
	Text     string            `json:"text"`
	Segments []diarizedSegment `json:"segments"`
	Usage    usage             `json:"usage"`
}

// diarizedSegment is what somebody says at a stretch; also the event of a stream that tells of it.
type diarizedSegment struct {
	Type    string  `json:"type"` // "transcript.text.segment"
	ID      string  `json:"id"`   // "seg_001"
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Text    string  `json:"text"`
	Speaker string  `json:"speaker,omitempty"`
}

const segmentType = "transcript.text.segment"

// segmentID names a segment by its place, from 0.
func segmentID(i int) string { return fmt.Sprintf("seg_%03d", i+1) }

// speakerLetter is a speaker as diarized_json names it, by the number of the channel: "A" for the first, and where all
// is one.
func speakerLetter(speaker string) string {
	n, _ := strconv.Atoi(speaker)
	return string(rune('A' + n))
}

func renderDiarized(res *engine.Result, duration float64, task engine.Task) ([]byte, error) {
	c := newClock(duration)
	return marshal(diarizedTranscript{taskName(task), c.duration, res.Text(),
		diarizedSegments(res.Segments, 0, c), durationUsage(c)})
}

// diarizedSegments are segments behind so many others.
func diarizedSegments(segments []engine.Segment, before int, c clock) []diarizedSegment {
	list := make([]diarizedSegment, len(segments))
	for i := range segments {
		s := &segments[i]
		start, end := c.span(s.Start, s.End)
		list[i] = diarizedSegment{segmentType, segmentID(before + i), start, end, strings.TrimSpace(s.Text),
			speakerLetter(s.Speaker)}
	}
	return list
}
