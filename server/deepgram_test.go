package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"hark/engine"
)

func (ts *testServer) deepgram(t *testing.T, query string, body []byte) *answer {
	t.Helper()
	return ts.with(t, "POST", "/v1/listen?"+query, bytes.NewReader(body), "Content-Type", "audio/wav", "Authorization", "Token "+bobKey)
}

func TestDeepgram(t *testing.T) {
	ts := newTestServer(t, withKeys(t, ""))
	clip := speechWAV(2, 1)
	sum := sha256.Sum256(clip)
	a := ts.deepgram(t, "model=nova-3&smart_format=true&utterances=true&detect_language=true", clip)
	if a.status != 200 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	v := a.json(t)
	meta := v["metadata"].(map[string]any)
	if meta["request_id"] != a.header.Get("x-request-id") || meta["sha256"] != hex.EncodeToString(sum[:]) || meta["duration"] != 2.0 || meta["channels"] != 1.0 ||
		meta["model_info"].(map[string]any)["fake"] == nil {
		t.Errorf("metadata: got %v", meta)
	}
	results := v["results"].(map[string]any)
	channels := results["channels"].([]any)
	channel := channels[0].(map[string]any)
	alternative := channel["alternatives"].([]any)[0].(map[string]any)
	transcript := alternative["transcript"].(string)
	word := alternative["words"].([]any)[1].(map[string]any)
	if len(channels) != 1 || channel["detected_language"] != "en" || !strings.HasPrefix(transcript, "heard ") || !strings.HasSuffix(transcript, ".") ||
		math.Abs(alternative["confidence"].(float64)-0.85) > 1e-9 {
		t.Errorf("got %v", results)
	}
	if word["punctuated_word"] != word["word"].(string)+"." || word["end"] != 2.0 || word["confidence"] != 0.8 {
		t.Errorf("got %v", word)
	}
	utterance := results["utterances"].([]any)[0].(map[string]any)
	if utterance["transcript"] != transcript || utterance["channel"] != 0.0 || utterance["id"] == "" {
		t.Errorf("got %v", utterance)
	}
	if got := a.header.Values("X-Hark-Warning"); !slices.Equal(got, []string{"these fields change nothing here: smart_format"}) {
		t.Errorf("warnings: %q", got)
	}
}

func TestDeepgramWishes(t *testing.T) {
	ts := newTestServer(t, withKeys(t, ""))
	clip := speechWAV(1, 1)
	for query, ok := range map[string]func(o engine.Options) bool{
		"":                                   func(o engine.Options) bool { return o.Language == "en" && o.WordTimestamps },
		"language=pt-BR":                     func(o engine.Options) bool { return o.Language == "pt" },
		"language=multi":                     func(o engine.Options) bool { return o.Language == "" },
		"detect_language=de&language=en":     func(o engine.Options) bool { return o.Language == "" },
		"keywords=hark:2&keyterm=Parakeet:x": func(o engine.Options) bool { return slices.Equal(o.Keywords, []string{"Parakeet:x", "hark"}) },
		"model=fake":                         func(o engine.Options) bool { return true },
		"model=whisper-large":                func(o engine.Options) bool { return true },
	} {
		a := ts.deepgram(t, query, clip)
		if o := ts.model.lastOptions(); a.status != 200 || !ok(o) {
			t.Errorf("%s: status %d %s, the model got %+v", query, a.status, a.body, o)
		}
		if strings.Contains(a.body, "utterances") || strings.Contains(a.body, "detected_language") != strings.Contains(query, "detect_language") {
			t.Errorf("%s: got %s", query, a.body)
		}
	}
	bare := ts.deepgram(t, "punctuate=false", clip).body
	if strings.Contains(bare, ".\"") || strings.Contains(bare, "punctuated_word") {
		t.Errorf("without punctuation: got %s", bare)
	}
	silent := ts.deepgram(t, "utterances=true", silentWAV(1))
	if !strings.Contains(silent.body, `"alternatives":[{"transcript":"","confidence":0,"words":[]}]`) || !strings.Contains(silent.body, `"utterances":[]`) {
		t.Errorf("silence: got %s", silent.body)
	}
}

func TestDeepgramChannels(t *testing.T) {
	ts := newTestServer(t, withKeys(t, ""))
	a := ts.deepgram(t, "multichannel=true&utterances=true", stereoWAV(speechWAV(2, 1), speechWAV(2, 2)))
	results := a.json(t)["results"].(map[string]any)
	channels := results["channels"].([]any)
	if len(channels) != 2 || len(results["utterances"].([]any)) != 2 {
		t.Fatalf("got %s", a.body)
	}
	var texts []string
	for _, c := range channels {
		texts = append(texts, c.(map[string]any)["alternatives"].([]any)[0].(map[string]any)["transcript"].(string))
	}
	if texts[0] == texts[1] || !strings.HasPrefix(texts[0], "heard ") || !strings.HasPrefix(texts[1], "heard ") {
		t.Errorf("got %q", texts)
	}
}

func TestDeepgramErrors(t *testing.T) {
	ts := newTestServer(t, withKeys(t, ""))
	clip := speechWAV(1, 1)
	check := func(a *answer, status int, code, message string) {
		t.Helper()
		v := a.json(t)
		if got, _ := v["err_msg"].(string); a.status != status || v["err_code"] != code || !strings.Contains(got, message) || v["request_id"] != a.header.Get("x-request-id") {
			t.Errorf("got %d %s, want %d %s %s", a.status, a.body, status, code, message)
		}
	}
	check(ts.deepgram(t, "callback=https://example.org", clip), 400, "Bad Request", "callback is not supported")
	check(ts.deepgram(t, "redact=pci", clip), 400, "Bad Request", "redact is not supported")
	check(ts.deepgram(t, "utterances=perhaps", clip), 400, "Bad Request", "utterances is")
	check(ts.deepgram(t, "language=xx", clip), 400, "Bad Request", "is not a language")
	check(ts.deepgram(t, "model=other", clip), 404, "Not Found", "there is no model")
	check(ts.deepgram(t, "", []byte("just some words, and no sound at all")), 415, "Unsupported Media Type", "is not supported")
	check(ts.with(t, "POST", "/v1/listen", bytes.NewReader(clip), "Authorization", "Token wrong"), 401, "INVALID_AUTH", "does not know")
	check(ts.with(t, "POST", "/v1/listen", strings.NewReader(`{"url":"http://127.0.0.1/a.wav"}`), "Content-Type", "application/json",
		"Authorization", "Token "+bobKey), 400, "Bad Request", "private")
}

func TestDeepgramURL(t *testing.T) {
	clip := speechWAV(1, 1)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(clip) }))
	defer files.Close()
	ts := newTestServer(t, func(c *Config) { c.FetchPrivate = true })
	a := ts.with(t, "POST", "/v1/listen?punctuate=true", strings.NewReader(`{"url":"`+files.URL+`/a.wav"}`), "Content-Type", "application/json")
	sum := sha256.Sum256(clip)
	if a.status != 200 || !strings.Contains(a.body, `"transcript":"heard `) || !strings.Contains(a.body, hex.EncodeToString(sum[:])) {
		t.Errorf("got %d %s", a.status, a.body)
	}
}
