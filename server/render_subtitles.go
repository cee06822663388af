package server

import (
	"fmt"
	"math"
	"strings"

	"hark/engine"
)

// cue is a segment as a subtitle: its times in ms, who says it, its text without space
// around it and without empty lines.
type cue struct {
	start, end int64
	speaker    string // "Speaker 0", "" where speakers aren't told apart
	text       string
}

// said is the text behind who says it: "Speaker 0: hello".
func (c cue) said() string {
	if c.speaker == "" {
		return c.text
	}
	return c.speaker + ": " + c.text
}

// cues turns segments into cues, leaving out those without text. Lines are never wrapped: players do that.
func cues(res *engine.Result, duration float64) []cue {
	c := newClock(duration)
	var list []cue
	for i := range res.Segments {
		s := &res.Segments[i]
		var lines []string
		for line := range strings.Lines(strings.ReplaceAll(s.Text, "\r", "\n")) {
			if line = strings.TrimSpace(line); line != "" { // an empty line would end the cue
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		start, end := c.span(s.Start, s.End)
		list = append(list, cue{inWholeMillis(start), inWholeMillis(end), speakerName(s.Speaker),
			strings.Join(lines, "\n")})
	}
	return list
}

// speakerName is a speaker as texts name it.
func speakerName(speaker string) string {
	if speaker == "" {
		return ""
	}
	return "Speaker " + speaker
}

// renderText writes the text, of several speakers with a line for each time that one of them speaks.
func renderText(res *engine.Result) []byte {
	var b strings.Builder
	for i := range res.Segments {
		s := &res.Segments[i]
		if i > 0 && s.Speaker != res.Segments[i-1].Speaker {
			b.WriteByte('\n')
		}
		text := s.Text
		if i == 0 || s.Speaker != res.Segments[i-1].Speaker {
			text = strings.TrimLeft(text, " \t\r\n")
			if s.Speaker != "" {
				text = speakerName(s.Speaker) + ": " + text
			}
		}
		b.WriteString(text)
	}
	return []byte(strings.TrimSpace(b.String()) + "\n")
}

func inWholeMillis(seconds float64) int64 { return int64(math.Round(seconds * 1000)) }

// renderSRT writes SubRip: a number from 1, the times with a decimal comma, the text, an empty line.
//
// Where speakers of several channels speak at once, their cues overlap, as those of WebVTT may (section 3.1, "WebVTT
// caption or subtitle cue"). SubRip has no specification; VLC, mpv and what ffmpeg makes of it show both, and WhisperX
// writes them so too. A player that shows one at a time goes on to the later one, which is all that cutting the
// earlier one short would come to anywhere.
func renderSRT(res *engine.Result, duration float64) []byte {
	var b strings.Builder
	for i, c := range cues(res, duration) {
		text := strings.ReplaceAll(c.said(), "-->", "->") // would be taken for times
		fmt.Fprintf(&b, "%d\n%s --> %s\n%s\n\n", i+1, timestamp(c.start, ','), timestamp(c.end, ','), text)
	}
	return []byte(b.String())
}

// vttEscaper writes what WebVTT's cue text reserves (W3C WebVTT, section 4.2.2, "WebVTT cue text span").
var vttEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// renderVTT writes WebVTT: its header, then each cue's times with a decimal point, its text, an empty line. Who says it
// is a voice span (section 4.2.2, "WebVTT cue voice span").
func renderVTT(res *engine.Result, duration float64) []byte {
	var b strings.Builder
	b.WriteString("WEBVTT\n\n")
	for _, c := range cues(res, duration) {
		text := vttEscaper.Replace(c.text)
		if c.speaker != "" {
			text = "<v " + c.speaker + ">" + text
		}
		fmt.Fprintf(&b, "%s --> %s\n%s\n\n", timestamp(c.start, '.'), timestamp(c.end, '.'), text)
	}
	return []byte(b.String())
}

// timestamp is HH:MM:SS and three decimals behind the given mark.
func timestamp(millis int64, mark rune) string {
	return fmt.Sprintf("%02d:%02d:%02d%c%03d", millis/3600_000, millis/60_000%60, millis/1000%60, mark, millis%1000)
}

// renderTSV writes whisper's table: start and end in ms, and the text, with a header line.
func renderTSV(res *engine.Result, duration float64) []byte {
	var b strings.Builder
	b.WriteString("start\tend\ttext\n")
	for _, c := range cues(res, duration) {
		text := strings.NewReplacer("\t", " ", "\n", " ").Replace(c.said())
		fmt.Fprintf(&b, "%d\t%d\t%s\n", c.start, c.end, text)
	}
	return []byte(b.String())
}
