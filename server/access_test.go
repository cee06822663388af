package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"hark/access"
)

const (
	aliceKey = "hark_alices_key_of_some_length"
	bobKey   = "hark_bobs_key_is_another_one"
)

// withKeys sets the keys of alice, with limits, and bob, without.
func withKeys(t *testing.T, limits string) func(*Config) {
	t.Helper()
	keys, err := access.Parse("alice:" + aliceKey + " " + limits + ",bob:" + access.HashText(bobKey))
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Keys = keys }
}

// with sends a request with headers, pairs of name and value.
func (ts *testServer) with(t *testing.T, method, path string, body io.Reader, headers ...string) *answer {
	t.Helper()
	r, err := http.NewRequest(method, ts.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return do(t, r)
}

func (ts *testServer) clip(t *testing.T, key string) *answer {
	t.Helper()
	return ts.with(t, "POST", "/v1/transcribe", bytes.NewReader(speechWAV(1, 1)), "Authorization", "Bearer "+key)
}

func TestKeys(t *testing.T) {
	ts := newTestServer(t, withKeys(t, ""))
	for name, header := range map[string][]string{
		"bearer":           {"Authorization", "Bearer " + aliceKey},
		"bearer in lower":  {"Authorization", "bearer  " + aliceKey + " "},
		"token":            {"Authorization", "Token " + bobKey},
		"x-api-key":        {"X-Api-Key", bobKey},
		"x-api-key beside": {"Authorization", "Basic dXNlcjpwdw==", "X-Api-Key", aliceKey},
		"subprotocol":      {"Sec-WebSocket-Protocol", "realtime, openai-insecure-api-key." + aliceKey + ", openai-beta.realtime-v1"},
	} {
		if a := ts.with(t, "GET", "/v1/models", nil, header...); a.status != 200 {
			t.Errorf("%s: status %d: %s", name, a.status, a.body)
		}
	}
	for name, header := range map[string][]string{
		"none":              {},
		"an empty bearer":   {"Authorization", "Bearer "},
		"a user":            {"Authorization", "Basic " + aliceKey},
		"a wrong key":       {"Authorization", "Bearer " + aliceKey + "x"},
		"a key's beginning": {"Authorization", "Bearer " + aliceKey[:20]},
		"the hash of one":   {"Authorization", "Bearer " + access.HashText(bobKey)},
		"no subprotocol":    {"Sec-WebSocket-Protocol", "realtime"},
	} {
		a := ts.with(t, "GET", "/v1/models", nil, header...)
		a.wantError(t, 401, "invalid_api_key", "")
		sent := strings.HasPrefix(name, "a wrong") || strings.Contains(name, "key's") || strings.Contains(name, "hash")
		if got := a.header.Get("WWW-Authenticate"); !strings.HasPrefix(got, `Bearer realm="hark"`) || strings.Contains(got, "invalid_token") != sent {
			t.Errorf("%s: WWW-Authenticate is %q", name, got)
		}
		if strings.Contains(a.body, "does not know") != sent {
			t.Errorf("%s: got %s", name, a.body)
		}
	}
	if log := ts.log.String(); strings.Contains(log, "hark_alice") || strings.Contains(log, "hark_bob") {
		t.Errorf("a key is in the log: %s", log)
	}
}

// TestKeyBeforeBody: who has no key is told so before he has sent his file, and the three tell the same of it.
func TestKeyBeforeBody(t *testing.T) {
	ts := newTestServer(t, withKeys(t, ""))
	pipe, w := io.Pipe()
	defer w.Close()
	go w.Write(make([]byte, 1000)) // the rest never comes
	ts.request(t, "POST", "/v1/audio/transcriptions", "multipart/form-data; boundary=x", pipe).wantError(t, 401, "invalid_api_key", "")
	for _, want := range []string{
		`hark_http_requests_total{method="POST",route="/v1/audio/transcriptions",status="401"} 1`,
		`hark_rejections_total{code="invalid_api_key"} 1`,
	} {
		eventually(t, want, func() bool { return strings.Contains(ts.get(t, "/metrics").body, want+"\n") })
	}
	if log := ts.log.String(); !strings.Contains(log, `"status":401`) || !strings.Contains(log, `"code":"invalid_api_key"`) {
		t.Errorf("the log has %s", log)
	}
}

func TestOpenRoutes(t *testing.T) {
	ts := newTestServer(t, withKeys(t, ""))
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if a := ts.get(t, path); a.status != 200 {
			t.Errorf("%s: status %d", path, a.status)
		}
	}
	ts.get(t, "/v1/nothing").wantError(t, 404, "unknown_path", "")
	ts.get(t, "/v1/transcribe").wantError(t, 405, "method_not_allowed", "")

	closed := newTestServer(t, func(c *Config) {
		withKeys(t, "")(c)
		c.ProtectProbes, c.ProtectMetrics = true, true
	})
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		closed.get(t, path).wantError(t, 401, "invalid_api_key", "")
		if a := closed.with(t, "GET", path, nil, "X-Api-Key", bobKey); a.status != 200 {
			t.Errorf("%s with a key: status %d", path, a.status)
		}
	}
}

// TestCaller: the name of a key is in the log, and what turns are shared by.
func TestCaller(t *testing.T) {
	ts := newTestServer(t, withKeys(t, ""))
	ts.clip(t, aliceKey)
	eventually(t, "the log names alice", func() bool { return strings.Contains(ts.log.String(), `"caller":"key:alice"`) })
}

func TestRequestLimit(t *testing.T) {
	ts := newTestServer(t, withKeys(t, "rpm=2"))
	for i := range 2 {
		a := ts.clip(t, aliceKey)
		if a.status != 200 {
			t.Fatalf("status %d: %s", a.status, a.body)
		}
		if limit, left := a.header.Get("x-ratelimit-limit-requests"), a.header.Get("x-ratelimit-remaining-requests"); limit != "2" || left != strconv.Itoa(1-i) {
			t.Errorf("limit %s, remaining %s", limit, left)
		}
		if reset := a.header.Get("x-ratelimit-reset-requests"); !strings.HasSuffix(reset, "s") {
			t.Errorf("reset %q", reset)
		}
	}
	a := ts.clip(t, aliceKey)
	a.wantError(t, 429, "rate_limit_exceeded", "")
	if a.header.Get("x-should-retry") != "false" || a.header.Get("Retry-After") != "" { // 30 s to the next one
		t.Errorf("got %v", a.header)
	}
	if !strings.Contains(a.body, "2 requests a minute") {
		t.Errorf("got %s", a.body)
	}
	if a := ts.with(t, "GET", "/v1/models", nil, "X-Api-Key", aliceKey); a.status != 200 {
		t.Errorf("a list of models counts: status %d", a.status)
	}
	if a := ts.clip(t, bobKey); a.status != 200 || a.header.Get("x-ratelimit-limit-requests") != "" {
		t.Errorf("bob has no limits, but: %d %v", a.status, a.header)
	}
}

// TestSoonAgain: where the next place comes within what all clients wait, they are told when.
func TestSoonAgain(t *testing.T) {
	ts := newTestServer(t, withKeys(t, "rpm=30"))
	for range 30 {
		ts.with(t, "POST", "/v1/transcribe", nil, "X-Api-Key", aliceKey) // an empty file is a request too
	}
	a := ts.clip(t, aliceKey)
	for a.status != 429 { // a place may have come on a slow machine
		a = ts.clip(t, aliceKey)
	}
	if wait := a.header.Get("Retry-After"); wait != "1" && wait != "2" || a.header.Get("x-should-retry") != "" {
		t.Errorf("got Retry-After %q and x-should-retry %q", wait, a.header.Get("x-should-retry"))
	}
}

func TestAudioLimit(t *testing.T) {
	ts := newTestServer(t, withKeys(t, "audio-per-hour=1s audio-per-minute=1h"))
	if a := ts.clip(t, aliceKey); a.status != 200 || a.header.Get("x-ratelimit-remaining-audio-seconds") != "1" {
		t.Fatalf("status %d: %v", a.status, a.header)
	}
	a := ts.clip(t, aliceKey)
	a.wantError(t, 429, "rate_limit_exceeded", "")
	if !strings.Contains(a.body, "1s of audio an hour") || a.header.Get("x-ratelimit-remaining-audio-seconds") != "0" || a.header.Get("x-should-retry") != "false" {
		t.Errorf("got %s %v", a.body, a.header)
	}
}

func TestConcurrentLimit(t *testing.T) {
	ts := newTestServer(t, withKeys(t, "concurrent=1"))
	hold := make(chan struct{})
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	first := make(chan *answer)
	go func() { first <- ts.clip(t, aliceKey) }()
	eventually(t, "the first is under way", func() bool { return ts.pending.Load() == 1 })
	a := ts.clip(t, aliceKey)
	a.wantError(t, 429, "rate_limit_exceeded", "")
	if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 8 {
		t.Errorf("Retry-After is %q, want 1 to 8", a.header.Get("Retry-After"))
	}
	close(hold)
	if a := <-first; a.status != 200 {
		t.Errorf("status %d", a.status)
	}
	for range 20 { // one after the other, none is refused
		if a := ts.clip(t, aliceKey); a.status != 200 {
			t.Errorf("status %d: %s", a.status, a.body)
		}
	}
}

// TestOfficialClientKeys: what the Go client makes of keys, and how often it tries.
func TestOfficialClientKeys(t *testing.T) {
	ts := newTestServer(t, withKeys(t, "rpm=1"))
	call := func(key string) error {
		client := officialClient(ts, option.WithAPIKey(key))
		_, err := client.Audio.Transcriptions.New(context.Background(),
			openai.AudioTranscriptionNewParams{Model: "whisper-1", File: bytes.NewReader(speechWAV(1, 1))})
		return err
	}
	want := func(err error, status int, code, kind string, attempts int) {
		t.Helper()
		var e *openai.Error
		if !errors.As(err, &e) || e.StatusCode != status || e.Code != code || e.Type != kind || e.Message == "" {
			t.Errorf("got %v, want %d %s %s", err, status, code, kind)
		}
		count := fmt.Sprintf(`hark_rejections_total{code="%s"} %d`, code, attempts)
		if got := ts.metric(t, `hark_rejections_total{code="`+code+`"}`); got != count {
			t.Errorf("got %s, want %s", got, count)
		}
	}
	if err := call(aliceKey); err != nil {
		t.Fatal(err)
	}
	want(call(aliceKey), 429, "rate_limit_exceeded", "rate_limit_error", 1)
	want(call("sk-wrong"), 401, "invalid_api_key", "invalid_request_error", 1)
}

// TestOfficialClientComesBack: the Go client waits as long as it is told, and is served at its second attempt.
func TestOfficialClientComesBack(t *testing.T) {
	ts := newTestServer(t, withKeys(t, "rpm=60"))
	for range 61 {
		if ts.with(t, "POST", "/v1/transcribe", nil, "X-Api-Key", aliceKey).status == 429 {
			break
		}
	}
	before := ts.count(t, `hark_rejections_total{code="rate_limit_exceeded"}`)
	client := officialClient(ts, option.WithAPIKey(aliceKey))
	_, err := client.Audio.Transcriptions.New(context.Background(),
		openai.AudioTranscriptionNewParams{Model: "whisper-1", File: bytes.NewReader(speechWAV(1, 1))})
	if err != nil {
		t.Fatal(err)
	}
	if refused := ts.count(t, `hark_rejections_total{code="rate_limit_exceeded"}`) - before; refused > 1 {
		t.Errorf("%v attempts were refused before one was served, want 1 at most", refused)
	}
}
