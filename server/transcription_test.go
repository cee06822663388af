package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestFormatsAndGranularities(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(2.5, 1)
	granularities := map[string][]string{
		"none":    nil,
		"segment": {"timestamp_granularities[]", "segment"},
		"word":    {"timestamp_granularities[]", "word"},
		"both":    {"timestamp_granularities[]", "word", "timestamp_granularities[1]", "segment"},
	}
	for _, format := range []string{"", "json", "text", "srt", "vtt", "verbose_json"} {
		for name, fields := range granularities {
			t.Run(format+"/"+name, func(t *testing.T) {
				a := ts.transcribe(t, clip, append([]string{"response_format", format}, fields...)...)
				if a.status != http.StatusOK {
					t.Fatalf("status %d: %s", a.status, a.body)
				}
				checkFormat(t, a, format, name == "word" || name == "both", name != "word")
			})
		}
	}
}

func checkFormat(t *testing.T, a *answer, format string, words, segments bool) {
	t.Helper()
	types := map[string]string{"": "application/json", "json": "application/json", "verbose_json": "application/json",
		"text": "text/plain; charset=utf-8", "srt": "text/plain; charset=utf-8", "vtt": "text/vtt; charset=utf-8"}
	if got := a.header.Get("Content-Type"); got != types[format] {
		t.Errorf("content type %q, want %q", got, types[format])
	}
	switch format {
	case "", "json":
		v := a.json(t)
		usage, _ := v["usage"].(map[string]any)
		if text, _ := v["text"].(string); !strings.HasPrefix(text, "heard ") || len(v) != 3 || inJSON(t, v["languages"]) != `[{"code":"en"}]` || usage["type"] != "duration" || usage["seconds"] != 2.5 {
			t.Errorf("got %s", a.body)
		}
	case "text":
		if !strings.HasPrefix(a.body, "heard ") || !strings.HasSuffix(a.body, ".\n") {
			t.Errorf("got %q", a.body)
		}
	case "srt":
		if !strings.HasPrefix(a.body, "1\n00:00:00,000 --> 00:00:02,500\nheard ") || !strings.HasSuffix(a.body, ".\n\n") {
			t.Errorf("got %q", a.body)
		}
	case "vtt":
		if !strings.HasPrefix(a.body, "WEBVTT\n\n00:00:00.000 --> 00:00:02.500\nheard ") {
			t.Errorf("got %q", a.body)
		}
	case "verbose_json":
		checkVerbose(t, a, words, segments)
	}
}

func checkVerbose(t *testing.T, a *answer, words, segments bool) {
	t.Helper()
	v := a.json(t)
	if v["task"] != "transcribe" || v["language"] != "english" || v["duration"] != 2.5 {
		t.Errorf("got task %v, language %v, duration %v", v["task"], v["language"], v["duration"])
	}
	list, ok := v["segments"].([]any)
	if ok != segments {
		t.Errorf("has segments: %v, want %v", ok, segments)
	}
	for i, item := range list {
		s := item.(map[string]any)
		for _, key := range strings.Fields("id seek start end text tokens temperature avg_logprob compression_ratio no_speech_prob") {
			if _, ok := s[key]; !ok {
				t.Errorf("segment %d lacks %s", i, key)
			}
		}
		if len(s) != 10 || s["id"] != float64(i) || s["temperature"] != 0.2 || s["end"].(float64) > 2.5 || !strings.HasPrefix(s["text"].(string), " ") {
			t.Errorf("got segment %v", s)
		}
	}
	list, ok = v["words"].([]any)
	if ok != words {
		t.Errorf("has words: %v, want %v", ok, words)
	}
	for _, item := range list {
		w := item.(map[string]any)
		if text := w["word"].(string); len(w) != 3 || text == "" || strings.TrimSpace(text) != text || w["end"].(float64) > 2.5 {
			t.Errorf("got word %v", w)
		}
	}
}

func TestHarkDialect(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(2, 3)
	t.Run("form", func(t *testing.T) { checkHark(t, ts.post(t, "/v1/transcribe", clip), false) })
	t.Run("bare body with query", func(t *testing.T) {
		a := ts.request(t, "POST", "/v1/transcribe?timestamp_granularities[]=word&language=German", "audio/wav", strings.NewReader(string(clip)))
		checkHark(t, a, true)
		if a.json(t)["language"] != "de" {
			t.Errorf("language %v, want de", a.json(t)["language"])
		}
	})
	t.Run("bare body as curl sends it", func(t *testing.T) {
		checkHark(t, ts.request(t, "POST", "/v1/transcribe", "application/x-www-form-urlencoded", strings.NewReader(string(clip))), false)
	})
	t.Run("bare body without a type", func(t *testing.T) {
		checkHark(t, ts.request(t, "POST", "/v1/transcribe/", "", strings.NewReader(string(clip))), false)
	})
	t.Run("indices in the query", func(t *testing.T) {
		a := ts.post(t, "/v1/transcribe?timestamp_granularities[0]=segment&timestamp_granularities[1]=word&language[0]=de", clip, "language", "de")
		checkHark(t, a, true)
		if got := a.header.Get("X-Hark-Warning"); got != "unknown fields are ignored: language[0]" {
			t.Errorf("warning %q", got)
		}
	})
	t.Run("form beats query", func(t *testing.T) {
		a := ts.post(t, "/v1/transcribe?language=xx&response_format=srt", clip, "language", "de", "response_format", "tsv")
		if !strings.HasPrefix(a.body, "start\tend\ttext\n0\t2000\theard ") {
			t.Errorf("got %d %q", a.status, a.body)
		}
	})
	t.Run("translate", func(t *testing.T) {
		a := ts.post(t, "/v1/transcribe", clip, "task", "translate", "language", "de")
		if v := a.json(t); v["task"] != "translate" || v["language"] != "en" {
			t.Errorf("got %s", a.body)
		}
	})
}

func checkHark(t *testing.T, a *answer, words bool) {
	t.Helper()
	if a.status != 200 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	v := a.json(t)
	h, _ := v["hark"].(map[string]any)
	if h["model"] != "fake" || h["device"] != "cpu" || h["lane"] != "clips" {
		t.Errorf("got hark %v", h)
	}
	for _, key := range []string{"queue_ms", "compute_ms", "turns_waited"} {
		if _, ok := h[key].(float64); !ok {
			t.Errorf("hark has no number %s", key)
		}
	}
	if c, _ := h["coverage"].(map[string]any); c["audio_s"] != 2.0 || c["heard_s"] != 2.0 || c["skipped_s"] != 0.0 {
		t.Errorf("got coverage %v", c)
	}
	if _, ok := v["words"]; ok != words {
		t.Errorf("has words: %v, want %v", ok, words)
	}
	if a.header.Get("X-Hark-Device") != "cpu" || !strings.Contains(a.header.Get("Server-Timing"), "compute;dur=") {
		t.Errorf("got headers %v", a.header)
	}
}

func TestTranslations(t *testing.T) {
	ts := newTestServer(t, nil)
	a := ts.post(t, "/v1/audio/translations", speechWAV(2, 1), "model", "fake", "response_format", "verbose_json")
	if v := a.json(t); v["language"] != "english" || v["task"] != "translate" {
		t.Errorf("got %s", a.body)
	}
	ts.model.info.Translates = false
	ts.post(t, "/v1/audio/translations", speechWAV(2, 1), "model", "fake").wantError(t, 400, "unsupported_value", "model")
	ts.post(t, "/v1/transcribe", speechWAV(2, 1), "task", "translate").wantError(t, 400, "unsupported_value", "task")
}

func TestSilence(t *testing.T) {
	ts := newTestServer(t, nil)
	before := ts.model.batches.Load()
	a := ts.transcribe(t, silentWAV(10), "response_format", "verbose_json", "timestamp_granularities[]", "word", "timestamp_granularities[]", "segment")
	v := a.json(t)
	if v["text"] != "" || len(v["segments"].([]any)) != 0 || len(v["words"].([]any)) != 0 || v["duration"] != 10.0 {
		t.Errorf("got %s", a.body)
	}
	if ts.model.batches.Load() != before {
		t.Error("silence was run on the device")
	}
	if a := ts.transcribe(t, silentWAV(10), "response_format", "vtt"); a.body != "WEBVTT\n\n" {
		t.Errorf("got %q", a.body)
	}
}

func TestRecording(t *testing.T) {
	ts := newTestServer(t, nil)
	a := ts.post(t, "/v1/transcribe", speechWAV(75, 1))
	v := a.json(t)
	if h := v["hark"].(map[string]any); h["lane"] != "recordings" {
		t.Errorf("got %v", h)
	}
	list := v["segments"].([]any)
	if last := list[len(list)-1].(map[string]any); len(list) < 3 || last["end"] != 75.0 {
		t.Errorf("%d segments, the last %v", len(list), last)
	}
	// The lane follows the decoded length to the sample.
	if h := ts.post(t, "/v1/transcribe", speechWAV(30, 1)).json(t)["hark"].(map[string]any); h["lane"] != "clips" {
		t.Errorf("30 s: got %v", h)
	}
}

func TestLanguages(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(1, 1)
	for sent, want := range map[string]string{"en": "en", "EN": "en", "en-US": "en", "en_us": "en", "english": "en", "English": "en",
		"pt-BR": "pt", "zh-Hans": "zh", "yue": "yue", "auto": "", "": ""} {
		if a := ts.transcribe(t, clip, "language", sent); a.status != 200 {
			t.Errorf("language %q: status %d: %s", sent, a.status, a.body)
		} else if got := ts.model.lastOptions().Language; got != want {
			t.Errorf("language %q: the model got %q, want %q", sent, got, want)
		}
	}
	ts.transcribe(t, clip, "language", "xx").wantError(t, 400, "invalid_language", "language")
	ts.transcribe(t, clip, "language", "fr").wantError(t, 400, "unsupported_value", "language")
	ts.transcribe(t, clip, "languages[]", "xx").wantError(t, 400, "invalid_language", "languages[]")
	ts.transcribe(t, clip, "languages[]", "fr").wantError(t, 400, "unsupported_value", "languages[]")
	ts.transcribe(t, clip, "languages[]", "de", "language", "de").wantError(t, 400, "conflicting_values", "languages[]")
	if a := ts.transcribe(t, clip, "languages[]", "de"); a.status != 200 || ts.model.lastOptions().Language != "de" {
		t.Errorf("one of languages[]: %s", a.body)
	}
}

func TestTemperature(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(1, 1)
	for _, bad := range []string{"2", "-0.1", "1.01", "NaN", "inf", "warm"} {
		ts.transcribe(t, clip, "temperature", bad).wantError(t, 400, "invalid_value", "temperature")
	}
	for sent, want := range map[string]string{"0": "[]", "": "[]", "0.5": "[0.5]", "1": "[1]"} {
		ts.transcribe(t, clip, "temperature", sent)
		if got := fmt.Sprint(ts.model.lastOptions().Temperatures); got != want {
			t.Errorf("temperature %q: the model got %s, want %s", sent, got, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(1, 1)
	for _, c := range []struct {
		fields []string
		want   string
	}{
		{[]string{"hotwords", "a", "vad_filter", "true"}, "unknown fields are ignored: hotwords (did you mean keywords?) vad_filter"},
		{[]string{"bad\tname,é", "a"}, "unknown fields are ignored: bad?name??"},
		{[]string{"model[x]", "a", "prompt[0]", "b", "language[en]", "c"}, "unknown fields are ignored: language[en] model[x] prompt[0]"},
		{[]string{"chunking_strategy", `{"type":"server_vad","mode":1}`},
			"unknown fields are ignored: chunking_strategy[mode]"},
		{[]string{"chunking_strategy[0]", "auto", "chunking_strategy[mode]", "x"}, "unknown fields are ignored: chunking_strategy[0] chunking_strategy[mode]"},
		{[]string{"timestamp_granularities[word]", "true", "include[0", "x"}, "unknown fields are ignored: include[0 timestamp_granularities[word]"},
		{[]string{"stream", "true"}, ""},
		{[]string{"stream", "true", "response_format", "vtt"}, "stream is ignored: vtt comes in one piece"},
		{[]string{"response_format", "diarized_json"}, "all is one speaker: channels=separate hears each channel as one"},
		{[]string{"languages[]", "en", "languages[]", "german"}, ""},
		{[]string{"stream", "false"}, ""},
		{[]string{"chunking_strategy", "auto"}, ""},
		{[]string{"chunking_strategy", `{"type":"server_vad","threshold":0.4}`}, "audio is cut at silence by the server's own measure, these are ignored: chunking_strategy[threshold]"},
		{[]string{"chunking_strategy[type]", "server_vad", "chunking_strategy[threshold]", "0.4"}, "audio is cut at silence by the server's own measure, these are ignored: chunking_strategy[threshold]"},
		{[]string{"include[]", "logprobs"}, ""},
		{[]string{"include[]", "logprobs", "response_format", "srt"}, "include[] is ignored: srt has no log-probabilities, json and verbose_json have"},
		{[]string{"timestamp_granularities[]", "word"}, "timestamp_granularities[] is ignored: only verbose_json shows them"},
		{[]string{"keywords[]", "Größe & Co.", "keywords", "[\n \"a\",\n \"b\"]\n"}, ""},
		{[]string{"keywords[]", ""}, ""},
		{[]string{"prompt", "Hello."}, ""},
	} {
		a := ts.transcribe(t, clip, c.fields...)
		if got := strings.Join(a.header.Values("X-Hark-Warning"), "; "); a.status != 200 || got != c.want {
			t.Errorf("%v: status %d, warning %q, want %q", c.fields, a.status, got, c.want)
		}
	}
}

// TestUnreadQuery: OpenAI's paths read a form alone, and say so.
func TestUnreadQuery(t *testing.T) {
	ts := newTestServer(t, nil)
	path, clip := "/v1/audio/transcriptions?response_format=text&foo=1", speechWAV(1, 1)
	a := ts.post(t, path, clip, "model", "whisper-1")
	if want := "query parameters are ignored, this path reads fields of the form: foo response_format"; a.status != 200 || a.header.Get("X-Hark-Warning") != want {
		t.Errorf("status %d, warning %q, want %q", a.status, a.header.Get("X-Hark-Warning"), want)
	}
	ts.post(t, path, clip, "model", "whisper-1", "strict", "true").wantError(t, 400, "unknown_parameter", "foo")
}

func TestKeywordsReachTheModel(t *testing.T) {
	ts := newTestServer(t, nil)
	a := ts.transcribe(t, speechWAV(2, 1), "keywords[]", "Größe & Co.", "keywords", `["a","b"]`)
	if got := ts.model.lastOptions().Keywords; a.status != 200 || !slices.Equal(got, []string{"Größe & Co.", "a", "b"}) {
		t.Errorf("status %d, keywords %q", a.status, got)
	}
}

func TestPromptForAModelWithoutPrompts(t *testing.T) {
	ts := newColdServer(t, nil)
	ts.model.info.Prompts = false
	if err := ts.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := ts.transcribe(t, speechWAV(2, 1), "prompt", "Hello.")
	if a.status != 200 || !strings.HasPrefix(a.header.Get("X-Hark-Warning"), "prompt is ignored: ") || ts.model.lastOptions().Prompt != "" {
		t.Errorf("status %d, warning %q, prompt %q", a.status, a.header.Get("X-Hark-Warning"), ts.model.lastOptions().Prompt)
	}
}
