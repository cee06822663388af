package server

import (
	"slices"
	"strings"
	"testing"
)

func TestLogProbs(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(2, 1)
	for _, c := range []struct{ path, format string }{{transcriptionsPath, "json"}, {transcriptionsPath, "verbose_json"}, {"/v1/transcribe", "verbose_json"}} {
		v := ts.post(t, c.path, clip, "model", "whisper-1", "response_format", c.format, "include[]", "logprobs").json(t)
		text := ""
		list, _ := v["logprobs"].([]any)
		for _, token := range list {
			for _, b := range token.(map[string]any)["bytes"].([]any) {
				text += string([]byte{byte(b.(float64))})
			}
		}
		if len(list) != 3 || strings.TrimSpace(text) != v["text"] || inJSON(t, list[0]) != `{"bytes":[32,104,101,97,114,100],"logprob":-0.5,"token":" heard"}` {
			t.Errorf("%s %s: %v", c.path, c.format, v)
		}
	}
	if v := ts.transcribe(t, clip).json(t); v["logprobs"] != nil || ts.model.lastOptions().LogProbs {
		t.Errorf("unasked: %v", v)
	}
	s, _ := ts.streamed(t, transcriptionsPath, clip, "model", "whisper-1", "include[]", "logprobs")
	if got := inJSON(t, s.of("delta")[0]["logprobs"]); len(s.of("delta")) != 1 || got != inJSON(t, s.done(t)["logprobs"]) || !strings.Contains(got, `"token":" heard"`) {
		t.Errorf("%v", s.events)
	}
}

func TestDiarized(t *testing.T) {
	ts := newTestServer(t, nil)
	v := ts.transcribe(t, dialogue(), "response_format", "diarized_json", "channels", "separate").json(t)
	speakers := ""
	var texts []string
	for i, s := range v["segments"].([]any) {
		s := s.(map[string]any)
		if s["type"] != "transcript.text.segment" || s["id"] != segmentID(i) || len(s) != 6 {
			t.Errorf("segment %v", s)
		}
		speakers += s["speaker"].(string)
		texts = append(texts, s["text"].(string))
	}
	if speakers != "ABBA" || strings.Join(texts, " ") != v["text"] || v["task"] != "transcribe" || v["duration"].(float64) < 50 || v["usage"] == nil || len(v) != 5 {
		t.Errorf("speakers %s: %v", speakers, v)
	}
	v = ts.transcribe(t, speechWAV(2, 1), "response_format", "diarized_json").json(t)
	if s := v["segments"].([]any); len(s) != 1 || s[0].(map[string]any)["speaker"] != "A" {
		t.Errorf("%v", v)
	}
	ts.transcribe(t, speechWAV(1, 1), "known_speaker_names[]", "agent").wantError(t, 400, "unsupported_parameter", "known_speaker_names[]")
	ts.post(t, "/v1/audio/translations", speechWAV(1, 1), "model", "whisper-1", "response_format", "diarized_json").wantError(t, 400, "invalid_value", "response_format")
}

func TestStrict(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(1, 1)
	a := ts.transcribe(t, clip, "strict", "true", "langauge", "de", "vad_filter", "true", "Response-Format", "json")
	a.wantError(t, 400, "unknown_parameter", "Response-Format")
	message := a.json(t)["error"].(map[string]any)["message"].(string)
	for _, want := range []string{"langauge (did you mean language?)", "Response-Format (did you mean response_format?)", "vad_filter"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q lacks %q", message, want)
		}
	}
	if a := ts.transcribe(t, clip, "strict", "true", "languages[0]", "de", "chunking_strategy[type]", "server_vad"); a.status != 200 {
		t.Errorf("known fields: status %d: %s", a.status, a.body)
	}
	if a := ts.transcribe(t, clip, "strict", "false", "langauge", "de"); a.status != 200 || !strings.Contains(a.header.Get("X-Hark-Warning"), "langauge (did you mean language?)") {
		t.Errorf("not strict: status %d: %v", a.status, a.header)
	}
	for name, want := range map[string]string{"lang": "", "modle": "model", "tempurature": "temperature", "x": "", "timestamp_granularity": "timestamp_granularities", "file_name": ""} {
		if got := closest(name); got != want {
			t.Errorf("%s: %q was meant, want %q", name, got, want)
		}
	}
}

func TestLanguagesReachTheModel(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(1, 1)
	for _, c := range []struct {
		sent     []string
		language string
		among    []string
	}{
		{[]string{"de"}, "de", nil},
		{[]string{"de-AT", "German"}, "de", nil},
		{[]string{"de", "pt-BR"}, "", []string{"de", "pt"}},
		{[]string{"de", "auto"}, "", nil},
	} {
		var fields []string
		for _, l := range c.sent {
			fields = append(fields, "languages[]", l)
		}
		a := ts.transcribe(t, clip, fields...)
		if o := ts.model.lastOptions(); a.status != 200 || o.Language != c.language || !slices.Equal(o.Languages, c.among) {
			t.Errorf("%v: status %d, the model got %q, %v", c.sent, a.status, o.Language, o.Languages)
		}
	}
	ts.transcribe(t, clip, "languages[]", "de", "language", "de").wantError(t, 400, "conflicting_values", "languages[]")
	ts.transcribe(t, clip, "languages[]", "de", "languages[]", "xx").wantError(t, 400, "invalid_language", "languages[]")
}
