package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// logLine is what a request's line in the log says of its end.
type logLine struct {
	ID, Method, Route, Code, Param string
	Status                         int
}

// line returns the log's line about a request.
func (ts *testServer) line(t *testing.T, id string) (line logLine) {
	t.Helper()
	eventually(t, "the log tells of "+id, func() bool {
		for text := range strings.Lines(ts.log.String()) {
			line = logLine{}
			if json.Unmarshal([]byte(text), &line) == nil && line.ID == id && line.Route != "" {
				return true
			}
		}
		return false
	})
	return line
}

// TestAgreement: the answer, the log and the metrics say the same of every bad request.
func TestAgreement(t *testing.T) {
	ts := newTestServer(t, func(c *Config) {
		withKeys(t, "rpm=1")(c)
		c.MaxUploadBytes, c.MaxPending = 200_000, 1
	})
	clip := speechWAV(1, 1)
	bob := func(method, path string, body io.Reader) *answer {
		return ts.with(t, method, path, body, "X-Api-Key", bobKey)
	}
	sent := func(file []byte, fields ...string) *answer {
		contentType, body := form(file, fields...)
		return ts.with(t, "POST", "/v1/audio/transcriptions", bytes.NewReader(body), "X-Api-Key", bobKey, "Content-Type", contentType)
	}
	for _, c := range []struct {
		name   string
		ask    func() *answer
		status int
		code   string
		param  string
		route  string
	}{
		{"no key", func() *answer { return ts.transcribe(t, clip) }, 401, "invalid_api_key", "", "/v1/audio/transcriptions"},
		{"wrong key", func() *answer { return ts.clip(t, "sk-nothing") }, 401, "invalid_api_key", "", "/v1/transcribe"},
		{"rate", func() *answer { ts.clip(t, aliceKey); return ts.clip(t, aliceKey) }, 429, "rate_limit_exceeded", "", "/v1/transcribe"},
		{"no file", func() *answer { return sent(nil, "model", "fake") }, 400, "missing_required_parameter", "file", "/v1/audio/transcriptions"},
		{"no model", func() *answer { return sent(clip) }, 400, "missing_required_parameter", "model", "/v1/audio/transcriptions"},
		{"bad field", func() *answer { return sent(clip, "model", "fake", "temperature", "2") }, 400, "invalid_value", "temperature", "/v1/audio/transcriptions"},
		{"no such model", func() *answer { return sent(clip, "model", "x") }, 404, "model_not_found", "model", "/v1/audio/transcriptions"},
		{"no sound", func() *answer { return sent([]byte("words, and nothing but words"), "model", "fake") }, 415, "unsupported_format", "file", "/v1/audio/transcriptions"},
		{"too large", func() *answer { return sent(make([]byte, 300_000), "model", "fake") }, 413, "file_too_large", "file", "/v1/audio/transcriptions"},
		{"cut short", func() *answer { return sent(clip[:100], "model", "fake") }, 200, "", "", "/v1/audio/transcriptions"},
		{"unknown path", func() *answer { return bob("GET", "/v1/nothing", nil) }, 404, "unknown_path", "", unmatched},
		{"wrong method", func() *answer { return bob("PATCH", "/v1/models", nil) }, 405, "method_not_allowed", "", unmatched},
		{"slow upload", func() *answer {
			usual := ts.cfg.UploadIdleTimeout
			ts.cfg.UploadIdleTimeout = 100 * time.Millisecond
			defer func() { ts.cfg.UploadIdleTimeout = usual }()
			pipe, w := io.Pipe()
			defer w.Close()
			go w.Write(clip[:1000])
			return bob("POST", "/v1/transcribe", pipe)
		}, 408, "upload_timeout", "", "/v1/transcribe"},
		{"full", func() *answer {
			hold := make(chan struct{})
			ts.model.set(func(m *fakeModel) { m.hold = hold })
			ended := make(chan *answer)
			go func() { ended <- bob("POST", "/v1/transcribe", bytes.NewReader(clip)) }()
			eventually(t, "one is under way", func() bool { return ts.pending.Load() == 1 })
			a := bob("POST", "/v1/transcribe", bytes.NewReader(clip))
			ts.model.set(func(m *fakeModel) { m.hold = nil })
			close(hold)
			<-ended
			return a
		}, 429, "queue_full", "", "/v1/transcribe"},
		{"broken model", func() *answer {
			ts.model.set(func(m *fakeModel) { m.fail = errors.New("broken") })
			defer ts.model.set(func(m *fakeModel) { m.fail = nil })
			return bob("POST", "/v1/transcribe", bytes.NewReader(clip))
		}, 500, "internal_error", "", "/v1/transcribe"},
		{"too late", func() *answer {
			ts.model.set(func(m *fakeModel) { m.hold = make(chan struct{}) })
			defer ts.model.set(func(m *fakeModel) { m.hold = nil })
			return letIn(func(deadline string) *answer {
				return bob("POST", "/v1/transcribe?deadline_ms="+deadline, bytes.NewReader(clip))
			})
		}, 503, "deadline_exceeded", "deadline_ms", "/v1/transcribe"},
		{"whisper.cpp's form", func() *answer { return bob("POST", "/inference", nil) }, 400, "empty_audio", "file", "/inference"},
		{"Deepgram's form", func() *answer { return bob("POST", "/v1/listen?language=xx", bytes.NewReader(clip)) }, 400, "invalid_language", "language", "/v1/listen"},
		{"stopping", func() *answer { ts.refuse(); return bob("POST", "/v1/transcribe", bytes.NewReader(clip)) }, 503, "shutting_down", "", "/v1/transcribe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rejections := fmt.Sprintf("hark_rejections_total{code=%q}", c.code)
			refused := ts.count(t, rejections)
			a := c.ask()
			if a.status != c.status {
				t.Fatalf("status %d, want %d: %s", a.status, c.status, a.body)
			}
			line := ts.line(t, a.header.Get("x-request-id"))
			if line.Status != a.status || line.Code != c.code || line.Param != c.param || line.Route != c.route {
				t.Errorf("the log says %+v", line)
			}
			requests := fmt.Sprintf("hark_http_requests_total{method=%q,route=%q,status=\"%d\"}", line.Method, c.route, c.status)
			if ts.count(t, requests) < 1 {
				t.Errorf("%s is not counted", requests)
			}
			if c.status == http.StatusOK {
				return
			}
			if got := ts.count(t, rejections) - refused; got != 1 {
				t.Errorf("%s rose by %v, want 1", rejections, got)
			}
			if e, ok := a.json(t)["error"].(map[string]any); ok && (e["code"] != c.code || (e["param"] == nil) != (c.param == "")) {
				t.Errorf("the answer says %v", e)
			}
			after, stop := a.header.Get("Retry-After"), a.header.Get("x-should-retry")
			switch c.code {
			case "queue_full", "shutting_down":
				if !strings.Contains("2345678", after) || len(after) != 1 || stop != "" {
					t.Errorf("advice on retrying: after %q, should %q", after, stop)
				}
			case "rate_limit_exceeded", "deadline_exceeded", "file_too_large":
				if after != "" || stop != "false" {
					t.Errorf("advice on retrying: after %q, should %q", after, stop)
				}
			}
		})
	}
}

// count is a metric's value, 0 while it isn't there.
func (ts *testServer) count(t *testing.T, metric string) (n float64) {
	t.Helper()
	fmt.Sscanf(strings.TrimPrefix(ts.metric(t, metric), metric), "%g", &n)
	return n
}
