package server

import (
	"slices"
	"strings"
	"testing"

	"hark/engine"
)

func TestInference(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(2, 1)
	a := ts.post(t, "/inference", clip)
	text, _ := a.json(t)["text"].(string)
	if a.status != 200 || !strings.HasPrefix(text, "heard ") || a.header.Get("X-Hark-Model") != "fake" {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	o := ts.model.lastOptions()
	if o.Language != "en" || o.Task != engine.Transcribe || !slices.Equal(o.Temperatures, []float32{0, 0.2, 0.4, 0.6, 0.8, 1}) {
		t.Errorf("by default: got %+v", o)
	}
	for format, want := range map[string]string{"text": "heard ", "srt": "1\n00:00:00,000 --> ", "vtt": "WEBVTT\n\n"} {
		if a := ts.post(t, "/inference", clip, "response_format", format); a.status != 200 || !strings.HasPrefix(a.body, want) {
			t.Errorf("%s: status %d: %s", format, a.status, a.body)
		}
	}
	v := ts.post(t, "/inference", clip, "response_format", "verbose_json").json(t)
	segment := v["segments"].([]any)[0].(map[string]any)
	word := segment["words"].([]any)[0].(map[string]any)
	if v["language"] != "english" || v["duration"] != 2.0 || v["task"] != "transcribe" || segment["end"] != 2.0 || word["word"] != " heard" || word["probability"] != 0.9 {
		t.Errorf("got %v", v)
	}
	v = ts.post(t, "/inference", clip, "response_format", "verbose_json", "no_timestamps", "true").json(t)
	if _, ok := v["segments"].([]any)[0].(map[string]any)["words"]; ok {
		t.Errorf("words without times: %v", v)
	}
}

func TestInferenceFields(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(1, 1)
	for _, c := range []struct {
		fields []string
		ok     func(o engine.Options) bool
	}{
		{[]string{"language", "de"}, func(o engine.Options) bool { return o.Language == "de" }},
		{[]string{"language", "auto"}, func(o engine.Options) bool { return o.Language == "" }},
		{[]string{"language", "de", "detect_language", "true"}, func(o engine.Options) bool { return o.Language == "" }},
		{[]string{"translate", "true"}, func(o engine.Options) bool { return o.Task == engine.Translate }},
		{[]string{"translate", "false"}, func(o engine.Options) bool { return o.Task == engine.Transcribe }},
		{[]string{"prompt", "Hello."}, func(o engine.Options) bool { return o.Prompt == "Hello." }},
		{[]string{"temperature", "0.4", "temperature_inc", "0.3"}, func(o engine.Options) bool { return slices.Equal(o.Temperatures, []float32{0.4, 0.7, 1}) }},
		{[]string{"temperature", "0.0", "temperature_inc", "0"}, func(o engine.Options) bool { return slices.Equal(o.Temperatures, []float32{0}) }},
		{[]string{"offset_t", "0", "duration", "0"}, func(o engine.Options) bool { return true }},
	} {
		a := ts.post(t, "/inference", clip, c.fields...)
		if o := ts.model.lastOptions(); a.status != 200 || !c.ok(o) || a.header.Get("X-Hark-Warning") != "" {
			t.Errorf("%v: status %d %s, the model got %+v, warnings %q", c.fields, a.status, a.body, o, a.header.Values("X-Hark-Warning"))
		}
	}
	a := ts.post(t, "/inference", clip, "best_of", "5", "vad", "true", "nonsense", "1")
	if got := a.header.Values("X-Hark-Warning"); !slices.Equal(got, []string{"these fields change nothing here: best_of vad", "unknown fields are ignored: nonsense"}) {
		t.Errorf("warnings: %q", got)
	}
}

// TestInferenceOneLanguage: as whisper.cpp does, a model of one language hears that one.
func TestInferenceOneLanguage(t *testing.T) {
	ts := newColdServer(t, nil)
	ts.model.info.Languages, ts.model.info.Translates = []string{"en"}, false
	if err := ts.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := ts.post(t, "/inference", speechWAV(1, 1), "language", "de", "translate", "true")
	if o := ts.model.lastOptions(); a.status != 200 || o.Language != "en" || o.Task != engine.Transcribe || !strings.Contains(a.header.Get("X-Hark-Warning"), "knows one language") {
		t.Errorf("status %d %s, the model got %+v", a.status, a.body, o)
	}
}

func TestInferenceErrors(t *testing.T) {
	ts := newTestServer(t, withKeys(t, ""))
	clip := speechWAV(1, 1)
	for want, fields := range map[string][]string{
		"response_format is":          {"response_format", "docx"},
		"temperature_inc is":          {"temperature_inc", "-1"},
		"translate is":                {"translate", "maybe"},
		"offset_t is not supported":   {"offset_t", "1000"},
		`"xx" is not a language that`: {"language", "xx"},
	} {
		contentType, body := form(clip, fields...)
		a := ts.with(t, "POST", "/inference", strings.NewReader(string(body)), "Content-Type", contentType, "X-Api-Key", bobKey)
		message, _ := a.json(t)["error"].(string)
		if a.status != 400 || !strings.HasPrefix(message, want) || len(a.json(t)) != 1 {
			t.Errorf("%v: got %d %s", fields, a.status, a.body)
		}
	}
	for _, path := range []string{"/inference", "/inference/"} {
		if a := ts.get(t, path); a.status != 405 || !strings.HasPrefix(a.body, `{"error":"GET is not allowed here`) || a.header.Get("Allow") != "POST" {
			t.Errorf("GET %s: got %d %s", path, a.status, a.body)
		}
	}
	if a := ts.post(t, "/inference", clip); a.status != 401 || !strings.HasPrefix(a.body, `{"error":"this server asks for an API key`) {
		t.Errorf("without a key: got %d %s", a.status, a.body)
	}
}
