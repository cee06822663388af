package server

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"hark/engine"
)

// heard is a result with everything that renderers must cope with.
func heard() *engine.Result {
	return &engine.Result{Language: "de", Segments: []engine.Segment{
		{Seek: 0, Start: 0, End: 1.5, Text: " Guten Tag.", Tokens: []int32{1, 2}, Temperature: 0.2, AvgLogProb: -0.5, CompressionRatio: 0.9,
			Words: []engine.Word{{Text: " Guten", Start: 0, End: 0.4}, {Text: " Tag.", Start: 0.4, End: 1.5}}},
		{Seek: 150, Start: 1.5, End: 1.7, Text: "  ", AvgLogProb: math.Inf(-1), CompressionRatio: math.NaN()},
		{Seek: 150, Start: 3723.0004, End: 3750, Text: " a < b & c --> d\n\ne\tf", Temperature: 0.6,
			Words: []engine.Word{{Text: " f", Start: 3724, End: 3800}}},
	}}
}

const heardDuration = 3725.12345

func TestRenderSubtitles(t *testing.T) {
	for format, want := range map[Format]string{
		SRT: "1\n00:00:00,000 --> 00:00:01,500\nGuten Tag.\n\n" +
			"2\n01:02:03,000 --> 01:02:05,123\na < b & c -> d\ne\tf\n\n",
		VTT: "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nGuten Tag.\n\n" +
			"01:02:03.000 --> 01:02:05.123\na &lt; b &amp; c --&gt; d\ne\tf\n\n",
		TSV:  "start\tend\ttext\n0\t1500\tGuten Tag.\n3723000\t3725123\ta < b & c --> d e f\n",
		Text: "Guten Tag.   a < b & c --> d\n\ne\tf\n",
		JSON: `{"text":"Guten Tag.   a < b & c --> d\n\ne\tf","languages":[{"code":"de"}],"usage":{"type":"duration","seconds":3725.123}}` + "\n",
	} {
		got, err := Render(format, heard(), heardDuration, engine.Transcribe, Detail{})
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", format, got, err, want)
		}
	}
	if _, err := Render("xml", heard(), 1, engine.Transcribe, Detail{}); err == nil {
		t.Error("an unknown format was rendered")
	}
}

// TestRenderOverlap: where speakers speak at once, both are shown for as long as they do.
func TestRenderOverlap(t *testing.T) {
	res := &engine.Result{Segments: []engine.Segment{
		{Start: 0, End: 8, Text: " And so it went on.", Speaker: "0"},
		{Start: 3, End: 3.5, Text: " Yes.", Speaker: "1"},
	}}
	for format, want := range map[Format]string{
		SRT: "1\n00:00:00,000 --> 00:00:08,000\nSpeaker 0: And so it went on.\n\n2\n00:00:03,000 --> 00:00:03,500\nSpeaker 1: Yes.\n\n",
		VTT: "WEBVTT\n\n00:00:00.000 --> 00:00:08.000\n<v Speaker 0>And so it went on.\n\n00:00:03.000 --> 00:00:03.500\n<v Speaker 1>Yes.\n\n",
	} {
		if got, err := Render(format, res, 10, engine.Transcribe, Detail{}); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", format, got, err, want)
		}
	}
}

func TestRenderVerbose(t *testing.T) {
	got, err := Render(VerboseJSON, heard(), heardDuration, engine.Transcribe, Detail{Segments: true, Words: true})
	want := `{"task":"transcribe","language":"german","duration":3725.123,"text":"Guten Tag.   a < b & c --> d\n\ne\tf","segments":[` +
		`{"id":0,"seek":0,"start":0,"end":1.5,"text":" Guten Tag.","tokens":[1,2],"temperature":0.2,"avg_logprob":-0.5,"compression_ratio":0.9,"no_speech_prob":0},` +
		`{"id":1,"seek":150,"start":1.5,"end":1.7,"text":"  ","tokens":[],"temperature":0,"avg_logprob":0,"compression_ratio":0,"no_speech_prob":0},` +
		`{"id":2,"seek":150,"start":3723,"end":3725.123,"text":" a < b & c --> d\n\ne\tf","tokens":[],"temperature":0.6,"avg_logprob":0,"compression_ratio":0,"no_speech_prob":0}],` +
		`"words":[{"word":"Guten","start":0,"end":0.4},{"word":"Tag.","start":0.4,"end":1.5},{"word":"f","start":3724,"end":3725.123}],` +
		`"usage":{"type":"duration","seconds":3725.123}}` + "\n"
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}

	got, _ = Render(VerboseJSON, heard(), heardDuration, engine.Translate, Detail{})
	var v map[string]any
	if err := json.Unmarshal(got, &v); err != nil || v["language"] != "english" || v["task"] != "translate" || v["segments"] != nil || v["words"] != nil {
		t.Errorf("translation without detail: got %s, %v", got, err)
	}
	got, _ = Render(VerboseJSON, &engine.Result{}, 0, engine.Transcribe, Detail{Segments: true, Words: true})
	if !strings.Contains(string(got), `"text":"","segments":[],"words":[]`) {
		t.Errorf("nothing heard: got %s", got)
	}
}

func TestClock(t *testing.T) {
	c := newClock(10.0006)
	for _, x := range []struct{ start, end, wantStart, wantEnd float64 }{
		{0, 1.23456, 0, 1.235},
		{-1, 20, 0, 10},
		{5, 4, 5, 5},
		{12, 13, 10, 10},
		{math.NaN(), math.Inf(1), 0, 10},
	} {
		if start, end := c.span(x.start, x.end); start != x.wantStart || end != x.wantEnd {
			t.Errorf("span(%v, %v) = %v, %v, want %v, %v", x.start, x.end, start, end, x.wantStart, x.wantEnd)
		}
	}
	if got := newClock(1.001).duration; got != 1.001 {
		t.Errorf("1.001 s became %v", got)
	}
}
