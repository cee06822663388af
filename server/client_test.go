package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"hark/engine"
)

// testServer is a server over a fake model, on a link of its own.
type testServer struct {
	*Server
	model *fakeModel
	url   string
	log   *syncBuffer
}

// newTestServer starts a warm server; change, if not nil, sets its Config first.
func newTestServer(t *testing.T, change func(*Config)) *testServer {
	t.Helper()
	ts := newColdServer(t, change)
	if err := ts.Warm(context.Background()); err != nil {
		t.Fatal(err)
	}
	return ts
}

func newColdServer(t *testing.T, change func(*Config)) *testServer {
	t.Helper()
	model := newFakeModel("fake")
	registry := engine.NewRegistry(engine.RegistryConfig{Load: func(context.Context, string) (engine.Model, error) { return model, nil }})
	cfg := Config{Models: []string{"fake"}, SpoolDir: t.TempDir()}
	if change != nil {
		change(&cfg)
	}
	log := &syncBuffer{}
	s, err := New(cfg, registry, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	link := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		link.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		registry.Close()
	})
	return &testServer{s, model, link.URL, log}
}

// answer is a response read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a *answer) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("status %d, body is not JSON: %v: %q", a.status, err, a.body)
	}
	return v
}

// wantError checks the four-key form, the status, and what code and param are.
func (a *answer) wantError(t *testing.T, status int, code, param string) {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q, want application/json", got)
	}
	e, _ := a.json(t)["error"].(map[string]any)
	if len(e) != 4 {
		t.Fatalf("error has keys %v, want message, type, param, code", e)
	}
	if message, _ := e["message"].(string); message == "" {
		t.Error("error without a message")
	}
	if kind, _ := e["type"].(string); kind == "" {
		t.Error("error without a type")
	}
	if got, _ := e["code"].(string); got != code {
		t.Errorf("code %v, want %q", e["code"], code)
	}
	var want any
	if param != "" {
		want = param
	}
	if e["param"] != want {
		t.Errorf("param %v, want %v", e["param"], want)
	}
}

// form makes a multipart body: pairs of field name and value, then the file unless it is nil.
func form(file []byte, pairs ...string) (contentType string, body []byte) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		w.WriteField(pairs[i], pairs[i+1])
	}
	if file != nil {
		part, _ := w.CreateFormFile("file", "clip.wav")
		part.Write(file)
	}
	w.Close()
	return w.FormDataContentType(), b.Bytes()
}

func do(t *testing.T, r *http.Request) *answer {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := &answer{resp.StatusCode, resp.Header, string(body)}
	if a.header.Get("x-request-id") == "" {
		t.Error("answer without x-request-id")
	}
	return a
}

func (ts *testServer) request(t *testing.T, method, path, contentType string, body io.Reader) *answer {
	t.Helper()
	r, err := http.NewRequest(method, ts.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return do(t, r)
}

func (ts *testServer) get(t *testing.T, path string) *answer {
	t.Helper()
	return ts.request(t, http.MethodGet, path, "", nil)
}

// transcribe posts to OpenAI's path; the model is set unless pairs do.
func (ts *testServer) transcribe(t *testing.T, file []byte, pairs ...string) *answer {
	t.Helper()
	return ts.post(t, "/v1/audio/transcriptions", file, append([]string{"model", "whisper-1"}, pairs...)...)
}

func (ts *testServer) post(t *testing.T, path string, file []byte, pairs ...string) *answer {
	t.Helper()
	contentType, body := form(file, pairs...)
	return ts.request(t, http.MethodPost, path, contentType, bytes.NewReader(body))
}

// metric returns the lines of /metrics that begin with prefix.
func (ts *testServer) metric(t *testing.T, prefix string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(ts.get(t, "/metrics").body) {
		if strings.HasPrefix(line, prefix) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// patience is how long a test waits for what must come; it's reached only where that doesn't.
const patience = time.Minute

// eventually waits until ok, for what happens on another goroutine.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("never came true: %s", what)
}
