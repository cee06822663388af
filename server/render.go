package server

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"hark/engine"
)

// Format is a form in which a transcript is written.
type Format string

// The formats. JSON has the text alone, VerboseJSON the segments and words with their times, TSV is whisper's table
// of milliseconds, DiarizedJSON says of each segment who speaks, which is to say in which channel.
const (
	JSON         Format = "json"
	VerboseJSON  Format = "verbose_json"
	DiarizedJSON Format = "diarized_json"
	Text         Format = "text"
	SRT          Format = "srt"
	VTT          Format = "vtt"
	TSV          Format = "tsv"
)

// Formats lists every Format, for a command's help and checks.
func Formats() []Format { return []Format{JSON, VerboseJSON, DiarizedJSON, Text, SRT, VTT, TSV} }

// ContentType is the format's media type.
func (f Format) ContentType() string {
	switch f {
	case JSON, VerboseJSON, DiarizedJSON:
		return "application/json"
	case VTT:
		return "text/vtt; charset=utf-8"
	case TSV:
		return "text/tab-separated-values; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

// Detail says what is shown besides the text: by VerboseJSON the segments and words, by that and JSON the
// log-probability of every token, if the transcript has them.
type Detail struct{ Segments, Words, LogProbs bool }

// Render writes a transcript in OpenAI's shapes, ending with a line break. duration is the audio's length in seconds;
// no time in the output exceeds it.
func Render(f Format, res *engine.Result, duration float64, task engine.Task, detail Detail) ([]byte, error) {
	switch f {
	case JSON:
		return renderJSON(res, duration, task, detail)
	case VerboseJSON:
		return renderVerbose(res, duration, task, detail)
	case DiarizedJSON:
		return renderDiarized(res, duration, task)
	case Text:
		return renderText(res), nil
	case SRT:
		return renderSRT(res, duration), nil
	case VTT:
		return renderVTT(res, duration), nil
	case TSV:
		return renderTSV(res, duration), nil
	}
	return nil, fmt.Errorf("unknown format %q, want one of %v", f, Formats())
}

// clock keeps times within the audio and rounds them to milliseconds, the finest that subtitles show.
type clock struct{ duration float64 }

func newClock(duration float64) clock { return clock{floorMillis(duration)} }

// span returns a start and an end with 0 ≤ start ≤ end ≤ duration.
func (c clock) span(start, end float64) (float64, float64) {
	start = c.time(start)
	return start, max(start, c.time(end))
}

func (c clock) time(t float64) float64 {
	if !(t > 0) { // NaN too
		return 0
	}
	return min(math.Round(t*1000)/1000, c.duration)
}

// floorMillis cuts to milliseconds; what lies within a float's error below a millisecond counts as it.
func floorMillis(t float64) float64 { return math.Floor(t*1000+1e-6) / 1000 }

// finite is x, or 0 where JSON has no number for it.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// marshal is json.Marshal without HTML's escapes, with a line break at the end.
func marshal(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}
