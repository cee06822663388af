package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hark/batcher"
	"hark/engine"
)

func TestBadRequests(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(1, 1)
	for _, c := range []struct {
		name   string
		file   []byte
		fields []string
		status int
		code   string
		param  string
	}{
		{"no file", nil, nil, 400, "missing_required_parameter", "file"},
		{"empty file", []byte{}, nil, 400, "empty_audio", "file"},
		{"no samples", silentWAV(0), nil, 400, "empty_audio", "file"},
		{"text file", []byte("this is no audio at all, but a text that someone has named clip.wav"), nil, 415, "unsupported_format", "file"},
		{"png", []byte("\x89PNG\r\n\x1a\n0000000000000000000000000000"), nil, 415, "unsupported_format", "file"},
		{"unknown format", clip, []string{"response_format", "xml"}, 400, "invalid_value", "response_format"},
		{"tsv is not OpenAI's", clip, []string{"response_format", "tsv"}, 400, "invalid_value", "response_format"},
		{"unknown granularity", clip, []string{"timestamp_granularities[]", "letter"}, 400, "invalid_value", "timestamp_granularities[]"},
		{"stream", clip, []string{"stream", "maybe"}, 400, "invalid_value", "stream"},
		{"include", clip, []string{"include[]", "everything"}, 400, "invalid_value", "include[]"},
		{"chunking", clip, []string{"chunking_strategy", "sometimes"}, 400, "invalid_value", "chunking_strategy"},
		{"chunking as broken JSON", clip, []string{"chunking_strategy", "{"}, 400, "invalid_value", "chunking_strategy"},
		{"chunking without a type", clip, []string{"chunking_strategy[threshold]", "1"}, 400, "invalid_value", "chunking_strategy"},
		{"speakers", clip, []string{"known_speaker_names[]", "agent"}, 400, "unsupported_parameter", "known_speaker_names[]"},
		{"prompt too long", clip, []string{"prompt", strings.Repeat("a", maxPromptBytes+1)}, 400, "too_long", "prompt"},
		{"keyword with <", clip, []string{"keywords[]", "hark", "keywords[]", "a<b"}, 400, "invalid_value", "keywords"},
		{"keyword with >", clip, []string{"keywords[1]", ">"}, 400, "invalid_value", "keywords"},
		{"keyword with CR", clip, []string{"keywords", "a\rb"}, 400, "invalid_value", "keywords"},
		{"keyword with LF at its end", clip, []string{"keywords[]", "a\n"}, 400, "invalid_value", "keywords"},
		{"keyword with LF as JSON", clip, []string{"keywords", `["ok", "a\nb"]`}, 400, "invalid_value", "keywords"},
		{"prompt not UTF-8", clip, []string{"prompt", "\xff"}, 400, "invalid_value", "prompt"},
		{"field too large", clip, []string{"prompt", strings.Repeat("a", maxFieldBytes+1)}, 413, "field_too_large", "prompt"},
		{"deadline", clip, []string{"deadline_ms", "soon"}, 400, "invalid_value", "deadline_ms"},
		{"deadline of zero", clip, []string{"deadline_ms", "0"}, 400, "invalid_value", "deadline_ms"},
		{"track", clip, []string{"track", "first"}, 400, "invalid_value", "track"},
		{"negative track", clip, []string{"track", "-1"}, 400, "invalid_value", "track"},
		{"missing track", clip, []string{"track", "2"}, 400, "unsupported_value", "track"},
		{"channels", clip, []string{"channels", "split"}, 400, "invalid_value", "channels"},
		{"sequential", clip, []string{"sequential", "7"}, 400, "invalid_value", "sequential"},
		{"two languages", clip, []string{"language", "en", "language", "de"}, 400, "conflicting_values", "language"},
	} {
		t.Run(c.name, func(t *testing.T) { ts.transcribe(t, c.file, c.fields...).wantError(t, c.status, c.code, c.param) })
	}
	t.Run("no model", func(t *testing.T) {
		ts.post(t, "/v1/audio/transcriptions", clip).wantError(t, 400, "missing_required_parameter", "model")
	})
	t.Run("unknown model", func(t *testing.T) {
		ts.post(t, "/v1/audio/transcriptions", clip, "model", "whisper-9").wantError(t, 404, "model_not_found", "model")
	})
	t.Run("task", func(t *testing.T) {
		ts.post(t, "/v1/transcribe", clip, "task", "sing").wantError(t, 400, "invalid_value", "task")
	})
	t.Run("file under another name", func(t *testing.T) {
		contentType, body := form(clip, "model", "fake")
		body = bytes.Replace(body, []byte(`name="file"`), []byte(`name="audio"`), 1)
		a := ts.request(t, "POST", "/v1/audio/transcriptions", contentType, bytes.NewReader(body))
		a.wantError(t, 400, "missing_required_parameter", "file")
		if !strings.Contains(a.body, "audio") {
			t.Errorf("got %s", a.body)
		}
	})
	t.Run("two files", func(t *testing.T) {
		contentType, body := form(clip, "file", "RIFF", "model", "fake")
		ts.request(t, "POST", "/v1/audio/transcriptions", contentType, bytes.NewReader(body)).wantError(t, 400, "too_many_files", "file")
	})
	t.Run("too many parts", func(t *testing.T) {
		fields := []string{}
		for i := range maxParts {
			fields = append(fields, fmt.Sprint("f", i), "")
		}
		ts.transcribe(t, clip, fields...).wantError(t, 413, "too_many_fields", "")
	})
	t.Run("no form", func(t *testing.T) {
		ts.request(t, "POST", "/v1/audio/transcriptions", "text/plain", strings.NewReader("{}")).wantError(t, 415, "unsupported_content_type", "")
	})
	for name, contentType := range map[string]string{
		"no boundary":       "multipart/form-data",
		"empty boundary":    "multipart/form-data; boundary=",
		"two boundaries":    "multipart/form-data; boundary=x; boundary=y",
		"in capitals":       "Multipart/Form-Data ; boundary=x; boundary=y",
		"broken parameters": "multipart/form-data; boundary=x; =",
	} {
		for _, path := range []string{"/v1/transcribe", "/v1/audio/transcriptions"} {
			t.Run(name+path, func(t *testing.T) {
				a := ts.request(t, "POST", path, contentType, strings.NewReader("--x\r\n"))
				a.wantError(t, 400, "malformed_body", "")
				if !strings.Contains(a.body, "no usable boundary") {
					t.Errorf("got %s", a.body)
				}
			})
		}
	}
	t.Run("form cut short", func(t *testing.T) {
		contentType, body := form(clip, "model", "fake")
		ts.request(t, "POST", "/v1/audio/transcriptions", contentType, bytes.NewReader(body[:len(body)-100])).wantError(t, 400, "malformed_body", "")
	})
	t.Run("empty bare body", func(t *testing.T) {
		ts.request(t, "POST", "/v1/transcribe", "", nil).wantError(t, 400, "empty_audio", "file")
	})
	if a := ts.transcribe(t, clip); a.status != 200 {
		t.Errorf("after all that: status %d", a.status)
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.get(t, "/v1/nothing").wantError(t, 404, "unknown_path", "")
	ts.get(t, "/").wantError(t, 404, "unknown_path", "")
	ts.get(t, "/v1/models/nothing").wantError(t, 404, "model_not_found", "model")
	for _, path := range []string{"/nope", "/", "//"} {
		ts.request(t, "FOO", path, "", nil).wantError(t, 404, "unknown_path", "")
	}
	ts.request(t, "POST", "/v1/nothing", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20))).wantError(t, 404, "unknown_path", "")

	a := ts.get(t, "/v1/audio/transcriptions")
	a.wantError(t, 405, "method_not_allowed", "")
	if got := a.header.Get("Allow"); got != "POST" {
		t.Errorf("Allow is %q, want POST", got)
	}
	a = ts.request(t, "DELETE", "/v1/models", "", nil)
	a.wantError(t, 405, "method_not_allowed", "")
	if got := a.header.Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow is %q, want GET, HEAD", got)
	}
	a = ts.request(t, "FOO", "/v1/models", "", nil)
	a.wantError(t, 405, "method_not_allowed", "")
	if got := a.header.Get("Allow"); got != "GET, HEAD" {
		t.Errorf("Allow is %q, want GET, HEAD", got)
	}
	for method, count := range map[string]string{"GET": "2", "other": "3"} {
		if got := ts.metric(t, `hark_http_requests_total{method="`+method+`",route="none",status="404"}`); !strings.HasSuffix(got, "} "+count) {
			t.Errorf("unknown paths are counted as %q", got)
		}
	}
}

func TestFileTooLarge(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.MaxUploadBytes = 100_000 })
	big := make([]byte, 12<<20)
	check := func(t *testing.T, a *answer) {
		t.Helper()
		a.wantError(t, 413, "file_too_large", "file")
		if a.header.Get("x-should-retry") != "false" {
			t.Error("no x-should-retry: false")
		}
	}
	t.Run("by its length", func(t *testing.T) { check(t, ts.transcribe(t, big)) })
	t.Run("while reading", func(t *testing.T) {
		contentType, body := form(big, "model", "fake")
		check(t, ts.request(t, "POST", "/v1/audio/transcriptions", contentType, io.MultiReader(bytes.NewReader(body))))
	})
	t.Run("bare", func(t *testing.T) {
		check(t, ts.request(t, "POST", "/v1/transcribe", "", io.MultiReader(bytes.NewReader(big))))
	})
	t.Run("just within", func(t *testing.T) {
		if a := ts.transcribe(t, wavOf(make([]int16, 49_978))); a.status != 200 {
			t.Errorf("100,000 bytes: status %d: %s", a.status, a.body)
		}
		check(t, ts.transcribe(t, wavOf(make([]int16, 49_979))))
	})
}

// TestSpoolFails: a disk that fails is the server's fault, not the client's.
func TestSpoolFails(t *testing.T) {
	for cause, status := range map[error]int{syscall.ENOSPC: 507, syscall.EDQUOT: 507, syscall.EFBIG: 507, syscall.EIO: 500, os.ErrClosed: 500} {
		e := uploadError(fmt.Errorf("part: %w", spoolFailed(&os.PathError{Op: "write", Path: "x", Err: cause})))
		if e.status != status || e.kind() != "server_error" || !errors.Is(e, cause) {
			t.Errorf("%v: got %d %s %v, want a server_error with %d", cause, e.status, e.kind(), e, status)
		}
	}
	ts := newTestServer(t, func(c *Config) { c.SpoolThreshold = 100 })
	if err := os.Remove(ts.cfg.SpoolDir); err != nil {
		t.Fatal(err)
	}
	ts.transcribe(t, speechWAV(1, 1)).wantError(t, 500, "storage_failed", "")
	a := ts.request(t, "POST", "/v1/transcribe", "", bytes.NewReader(speechWAV(1, 1)))
	a.wantError(t, 500, "storage_failed", "")
	if kind := a.json(t)["error"].(map[string]any)["type"]; kind != "server_error" || strings.Contains(a.body, ts.cfg.SpoolDir) {
		t.Errorf("got %s", a.body)
	}
	eventually(t, "the log tells of both", func() bool { return strings.Count(ts.log.String(), `"level":"error"`) == 2 })
	if log := ts.log.String(); !strings.Contains(log, "spool: open ") {
		t.Errorf("the reason is not in the log: %s", log)
	}
}

func TestAudioTooLong(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.MaxDuration = 3 * time.Second })
	ts.transcribe(t, speechWAV(3.01, 1)).wantError(t, 413, "audio_too_long", "file")
	if a := ts.transcribe(t, speechWAV(3, 1)); a.status != 200 {
		t.Errorf("3 s: status %d: %s", a.status, a.body)
	}
	long := newTestServer(t, func(c *Config) { c.MaxDuration = 40 * time.Second })
	long.transcribe(t, speechWAV(41, 1)).wantError(t, 413, "audio_too_long", "file")
}

func TestQueueFull(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.MaxPending = 1 })
	hold := make(chan struct{})
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	first := make(chan *answer)
	go func() { first <- ts.transcribe(t, speechWAV(1, 1)) }()
	eventually(t, "the first request is under way", func() bool { return ts.pending.Load() == 1 })

	// The body never comes to its end, so the answer must come before it.
	pipe, w := io.Pipe()
	defer w.Close()
	contentType, body := form(speechWAV(1, 2), "model", "fake")
	go w.Write(body[:1000])
	a := ts.request(t, "POST", "/v1/audio/transcriptions", contentType, pipe)
	a.wantError(t, 429, "queue_full", "")
	if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 8 {
		t.Errorf("Retry-After is %q, want 1 to 8", a.header.Get("Retry-After"))
	}
	if e := a.json(t)["error"].(map[string]any); e["type"] != "rate_limit_error" {
		t.Errorf("type %v", e["type"])
	}
	close(hold)
	if a := <-first; a.status != 200 {
		t.Errorf("the first request: status %d: %s", a.status, a.body)
	}
	if got := ts.metric(t, `hark_rejections_total{code="queue_full"}`); !strings.HasSuffix(got, " 1") {
		t.Errorf("metric %q", got)
	}
}

func TestEngineErrors(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(1, 1)
	ts.model.set(func(m *fakeModel) { m.fail = errors.New("the fake has a secret reason") })
	a := ts.transcribe(t, clip)
	a.wantError(t, 500, "internal_error", "")
	if strings.Contains(a.body, "secret") {
		t.Error("an inner error's text went out")
	}
	if !strings.Contains(ts.log.String(), "secret reason") {
		t.Error("the reason is not in the log")
	}
	ts.model.set(func(m *fakeModel) { m.fail, m.panics = nil, true })
	ts.transcribe(t, clip).wantError(t, 500, "internal_error", "")
	if !strings.Contains(ts.log.String(), "fake_test.go") {
		t.Error("the panic's stack is not in the log")
	}
	ts.model.set(func(m *fakeModel) { m.panics = false })
	if a := ts.transcribe(t, clip); a.status != 200 {
		t.Errorf("after a panic: status %d", a.status)
	}
	ts.model.set(func(m *fakeModel) { m.fail = fmt.Errorf("%w: the driver's words", engine.ErrOutOfMemory) })
	ts.transcribe(t, clip).wantError(t, 507, "out_of_memory", "")
	ts.model.set(func(m *fakeModel) { m.fail = fmt.Errorf("%w: gone", batcher.ErrFatal) })
	ts.transcribe(t, clip).wantError(t, 500, "device_lost", "")
	ts.transcribe(t, clip).wantError(t, 500, "device_lost", "")
	if a := ts.get(t, "/readyz"); a.status != 503 || a.json(t)["status"] != "failed" {
		t.Errorf("readyz after a lost device: %d %s", a.status, a.body)
	}
}

func TestHandlerPanic(t *testing.T) {
	ts := newTestServer(t, nil)
	h := ts.observe(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hs := &http.Server{Handler: h}
	go hs.Serve(l)
	defer hs.Close()
	for range 2 {
		r, _ := http.NewRequest("GET", "http://"+l.Addr().String(), nil)
		do(t, r).wantError(t, 500, "internal_error", "")
	}
	if log := ts.log.String(); !strings.Contains(log, "boom") || !strings.Contains(log, "errors_test.go") {
		t.Errorf("log lacks the panic and its stack: %s", log)
	}
}

// letIn asks with a deadline that is longer each time until it's let in, as it is
// where it's longer than what the warm-up took.
func letIn(ask func(deadline string) *answer) (a *answer) {
	for ms := 100; ms < 60_000; ms *= 2 {
		if a = ask(strconv.Itoa(ms)); a.status != 429 {
			break
		}
	}
	return a
}

func TestDeadline(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.model.set(func(m *fakeModel) { m.hold = make(chan struct{}) })
	a := letIn(func(deadline string) *answer { return ts.transcribe(t, speechWAV(1, 1), "deadline_ms", deadline) })
	a.wantError(t, 503, "deadline_exceeded", "deadline_ms")
	if a.header.Get("x-should-retry") != "false" {
		t.Error("no x-should-retry: false")
	}
	contentType, body := form(speechWAV(1, 1), "model", "fake")
	r, _ := http.NewRequest("POST", ts.url+"/v1/audio/transcriptions", bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("X-Hark-Deadline-Ms", "soon")
	do(t, r).wantError(t, 400, "invalid_value", "deadline_ms")
	ts.model.set(func(m *fakeModel) { m.hold = nil })
	if a := ts.transcribe(t, speechWAV(1, 1), "deadline_ms", "600000"); a.status != 200 {
		t.Errorf("a deadline far away: status %d", a.status)
	}
}

// TestPredictedWait: what can't be done in time, or would wait for too long, is
// refused at once, with the wait in the body.
func TestPredictedWait(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.Scheduling.QueueLimit = 1 })
	hold := make(chan struct{})
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	begun := ts.model.batches.Load()
	answers := make(chan *answer)
	go func() { answers <- ts.transcribe(t, speechWAV(1, 1)) }()
	eventually(t, "the first one runs", func() bool { return ts.model.batches.Load() > begun })
	go func() { answers <- ts.transcribe(t, speechWAV(1, 2)) }()
	eventually(t, "the second one waits", func() bool { return len(queuedClips(t, ts)) == 1 })

	a := ts.transcribe(t, speechWAV(1, 3))
	a.wantError(t, 429, "queue_full", "")
	if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 8 {
		t.Errorf("Retry-After is %q, want 1 to 8", a.header.Get("Retry-After"))
	}
	hark := a.json(t)["hark"].(map[string]any)
	if hark["limit"] != "count" || hark["waiting"] != 1.0 || hark["predicted_wait_ms"].(float64) <= 0 {
		t.Errorf("got %v", hark)
	}
	waiting := queuedClips(t, ts)[0].(map[string]any)
	if waiting["position"] != 1.0 || waiting["cost_ms"] != 1000.0 || waiting["started"] != false || waiting["waited_ms"].(float64) <= 0 {
		t.Errorf("GET /v1/queue: got %v", waiting)
	}
	close(hold)
	for range 2 {
		if a := <-answers; a.status != 200 {
			t.Errorf("status %d: %s", a.status, a.body)
		}
	}
	a = ts.transcribe(t, speechWAV(29, 1), "deadline_ms", "1")
	if a.status != 429 && a.status != 503 { // 503 if decoding alone has taken that long
		t.Errorf("a deadline of 1 ms: status %d: %s", a.status, a.body)
	}
	if a.header.Get("x-should-retry") != "false" {
		t.Error("no x-should-retry: false")
	}
}

// queuedClips are the clips that GET /v1/queue shows waiting.
func queuedClips(t *testing.T, ts *testServer) []any {
	t.Helper()
	models := ts.get(t, "/v1/queue").json(t)["models"].([]any)
	return models[0].(map[string]any)["clips"].([]any)
}

func TestUploadTimeout(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.UploadIdleTimeout = 100 * time.Millisecond })
	pipe, w := io.Pipe()
	defer w.Close()
	contentType, body := form(speechWAV(1, 1), "model", "fake")
	go w.Write(body[:1000])
	ts.request(t, "POST", "/v1/audio/transcriptions", contentType, pipe).wantError(t, 408, "upload_timeout", "")

	conn, r := dial(t, ts)
	fmt.Fprintf(conn, "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		contentType, len(body)+10, body)
	readAnswer(t, r).wantError(t, 408, "upload_timeout", "") // it may be the form's end, but not the body's
}
