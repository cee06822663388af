package server

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"hark/engine"
)

func TestModels(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.Models = []string{"fake", "./models/other one"} })
	v := ts.get(t, "/v1/models").json(t)
	list := v["data"].([]any)
	if v["object"] != "list" || len(list) != 2 {
		t.Fatalf("got %v", v)
	}
	first := list[0].(map[string]any)
	if first["id"] != "fake" || first["object"] != "model" || first["owned_by"] != "hark" || first["created"].(float64) < 1e9 {
		t.Errorf("got %v", first)
	}
	for path, id := range map[string]string{"fake": "fake", "whisper-1": "fake", "gpt-4o-transcribe": "fake", "./models/other%20one": "./models/other one"} {
		if a := ts.get(t, "/v1/models/"+path); a.status != 200 || a.json(t)["id"] != id {
			t.Errorf("%s: got %d %s", path, a.status, a.body)
		}
	}
	strict := newTestServer(t, func(c *Config) { c.NoAliases = true })
	strict.transcribe(t, speechWAV(1, 1)).wantError(t, 404, "model_not_found", "model")
}

func TestReadiness(t *testing.T) {
	ts := newColdServer(t, nil)
	if a := ts.get(t, "/readyz"); a.status != 503 || a.json(t)["status"] != "loading" {
		t.Errorf("before the warm-up: %d %s", a.status, a.body)
	}
	if a := ts.get(t, "/healthz"); a.status != 200 {
		t.Errorf("healthz before the warm-up: %d", a.status)
	}
	if err := ts.Warm(context.Background()); err != nil {
		t.Fatal(err)
	}
	a := ts.get(t, "/readyz")
	want := `{"status":"ready","models":[{"name":"fake","loaded":true,"device":"cpu"}]}` + "\n"
	if a.status != 200 || a.body != want {
		t.Errorf("got %d %s, want %s", a.status, a.body, want)
	}
	if a := ts.request(t, http.MethodHead, "/readyz", "", nil); a.status != 200 || a.body != "" {
		t.Errorf("HEAD: %d %q", a.status, a.body)
	}
}

func TestWarmFails(t *testing.T) {
	broken := errors.New("no weights")
	registry := engine.NewRegistry(engine.RegistryConfig{Load: func(context.Context, string) (engine.Model, error) { return nil, broken }})
	s, err := New(Config{Models: []string{"x"}}, registry, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Warm(context.Background()); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestMetrics(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.transcribe(t, speechWAV(2, 1))
	ts.transcribe(t, silentWAV(3))
	for _, want := range []string{
		`hark_http_requests_total{method="POST",route="/v1/audio/transcriptions",status="200"} 2`,
		`hark_audio_seconds_total{lane="clips",model="fake"} 5`,
		`hark_audio_skipped_seconds_total{model="fake"} 3`,
		`hark_model_loaded{device="cpu",model="fake"} 1`,
		`hark_model_weight_bytes{device="cpu",model="fake"} 1000`,
		`hark_queue_seconds_count{lane="clips",model="fake"} 2`, // the warm-up is one
		`hark_batch_windows_count{lane="clips",model="fake"} 2`,
		`hark_transcriptions_pending 0`,
		`hark_ready 1`,
	} {
		eventually(t, want, func() bool { return strings.Contains(ts.get(t, "/metrics").body, want+"\n") })
	}
}

func TestRequestID(t *testing.T) {
	ts := newTestServer(t, nil)
	for sent, kept := range map[string]bool{"abc-1.2:3_Z": true, "": false, "a b": false, strings.Repeat("a", 129): false, "ä": false} {
		r, _ := http.NewRequest("GET", ts.url+"/healthz", nil)
		r.Header.Set("X-Request-Id", sent)
		if got := do(t, r).header.Get("x-request-id"); (got == sent) != kept || got == "" {
			t.Errorf("sent %q, got %q", sent, got)
		}
	}
}

func TestLogLine(t *testing.T) {
	ts := newTestServer(t, nil)
	contentType, body := form(speechWAV(1, 1), "model", "fake", "prompt", "a secret prompt")
	r, _ := http.NewRequest("POST", ts.url+"/v1/audio/transcriptions", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer sk-secret")
	r.Header.Set("x-stainless-retry-count", "1")
	do(t, r)
	eventually(t, "the log line", func() bool { return strings.Contains(ts.log.String(), `"route":"/v1/audio/transcriptions"`) })
	log := ts.log.String()
	for _, want := range []string{`"status":200`, `"model":"fake"`, `"lane":"clips"`, `"audio_s":1`, `"tokens":2`, `"retry_count":"1"`, `"caller":"key:`} {
		if !strings.Contains(log, want) {
			t.Errorf("log lacks %s: %s", want, log)
		}
	}
	if strings.Contains(log, "secret") || strings.Contains(log, "heard ") {
		t.Errorf("log tells too much: %s", log)
	}
}

func TestConfig(t *testing.T) {
	a := []string{"a"}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, cfg := range map[string]Config{
		"no model is named: want at least one to serve":                                                  {},
		"a model's name is empty":                                                                        {Models: []string{""}},
		`model "a" is named twice`:                                                                       {Models: []string{"a", "b", "a"}},
		"the largest upload is negative: want more than 0, or 0 for the default":                         {Models: a, MaxUploadBytes: -1},
		"the longest audio is negative: want more than 0, or 0 for the default":                          {Models: a, MaxDuration: -1},
		"the part of an upload that stays in memory is negative: want more than 0, or 0 for the default": {Models: a, SpoolThreshold: -1},
		"the number of transcriptions under way is negative: want more than 0, or 0 for the default":     {Models: a, MaxPending: -1},
		"the memory for decoded audio is negative: want more than 0, or 0 for the default":               {Models: a, MaxDecodedBytes: -1},
		"the longest pause in an upload is negative: want more than 0, or 0 for the default":             {Models: a, UploadIdleTimeout: -1},
		"the longest time for an upload is negative: want more than 0, or 0 for the default":             {Models: a, UploadTimeout: -1},
		"the longest time for reading an answer is negative: want more than 0, or 0 for the default":     {Models: a, WriteTimeout: -1},
		"the folder for uploads, /nowhere/at/all: no such file or directory":                             {Models: a, SpoolDir: "/nowhere/at/all"},
		"the folder for uploads, " + file + ": not a folder":                                             {Models: a, SpoolDir: file},
	} {
		if err := cfg.Validate(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := (Config{Models: a, SpoolDir: "/nowhere/at/all"}).Validate(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want what errors.Is finds to be %v", err, fs.ErrNotExist)
	}
	c := Config{Models: []string{"a"}}.withDefaults()
	if c.MaxUploadBytes != DefaultMaxUploadBytes || c.ShutdownGrace != DefaultShutdownGrace || c.MaxPending != DefaultMaxPending {
		t.Errorf("got %+v", c)
	}
}
