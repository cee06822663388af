package server

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"hark/engine"

	"github.com/rs/zerolog"
)

func TestManyAtOnce(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.SpoolThreshold = 20_000 })
	const n = 64
	clips := make([][]byte, n)
	alone := make([]string, n)
	seen := map[string]bool{}
	for i := range clips {
		clips[i] = speechWAV(0.5+0.01*float64(i), i)
		alone[i] = ts.transcribe(t, clips[i], "response_format", "verbose_json").body
		seen[alone[i]] = true
	}
	if len(seen) != n {
		t.Fatalf("%d different answers to %d different clips", len(seen), n)
	}
	together := func(pick func(i int) int) {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				k := pick(i)
				if a := ts.transcribe(t, clips[k], "response_format", "verbose_json"); a.status != 200 || a.body != alone[k] {
					t.Errorf("clip %d: status %d, got %s, want %s", k, a.status, a.body, alone[k])
				}
			})
		}
		wg.Wait()
	}
	before := ts.model.batches.Load()
	together(func(int) int { return 0 })
	together(func(i int) int { return i })
	if ran := ts.model.batches.Load() - before; ran >= 2*n {
		t.Errorf("%d batches for %d clips at once: none was shared", ran, 2*n)
	}
	wantEmpty(t, ts.cfg.SpoolDir)
}

// TestFlood sends far more than the server holds: each request gets an answer, a
// transcript or a 429, and no broken link.
func TestFlood(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.MaxPending = 8 })
	clip := speechWAV(1, 1)
	hold := make(chan struct{})
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	const n = 200
	answers := make(chan *answer, n)
	for range n {
		go func() { answers <- ts.transcribe(t, clip, "response_format", "text") }()
	}
	for range n - 8 { // those that find no place are answered while the others wait
		a := <-answers
		a.wantError(t, 429, "queue_full", "")
	}
	close(hold)
	for range 8 {
		if a := <-answers; a.status != 200 || !strings.HasPrefix(a.body, "heard ") {
			t.Errorf("got %d %s", a.status, a.body)
		}
	}
	if used := ts.memory.used.Load(); used != 0 {
		t.Errorf("%d bytes of uploads are still counted", used)
	}
}

func TestSpooledUploadLeavesNothing(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(300, 1) // 9.6 MB
	hold := make(chan struct{})
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	done := make(chan *answer)
	go func() { done <- ts.transcribe(t, clip, "response_format", "text") }()
	eventually(t, "it runs", func() bool { return ts.model.batches.Load() > 1 })
	wantEmpty(t, ts.cfg.SpoolDir) // it has no name even while it's in use, and is closed once decoded
	close(hold)
	if a := <-done; a.status != 200 || !strings.HasPrefix(a.body, "heard ") {
		t.Errorf("got %d %q", a.status, a.body)
	}
	if got := ts.metric(t, "hark_uploads_spooled_total"); !strings.HasSuffix(got, " 1") {
		t.Errorf("metric %q", got)
	}
	if a := ts.transcribe(t, append([]byte("no audio"), make([]byte, 9<<20)...)); a.status != 415 {
		t.Errorf("a large file that is no audio: status %d", a.status)
	}
	wantEmpty(t, ts.cfg.SpoolDir)
}

// hangUp sends a request and drops its link once when says so.
func hangUp(t *testing.T, ts *testServer, body io.Reader, contentType string, when func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", ts.url+"/v1/audio/transcriptions", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	ended := make(chan error)
	go func() {
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		ended <- err
	}()
	eventually(t, "the time to hang up", when)
	cancel()
	if c, ok := body.(io.Closer); ok {
		c.Close() // else the client waits for more to send
	}
	if err := <-ended; err == nil {
		t.Error("the client got an answer")
	}
}

func TestHangUpWhileWaiting(t *testing.T) {
	ts := newTestServer(t, nil)
	hold := make(chan struct{})
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	started := ts.model.batches.Load()
	contentType, body := form(speechWAV(1, 1), "model", "fake")
	hangUp(t, ts, bytes.NewReader(body), contentType, func() bool { return ts.model.batches.Load() > started })
	eventually(t, "the place is free", func() bool { return ts.pending.Load() == 0 })
	eventually(t, "the window knows", func() bool { return ts.model.lastJob().dropped.Load() })
	eventually(t, "the log tells", func() bool { return strings.Contains(ts.log.String(), `"status":499`) })
	if got := ts.metric(t, "hark_cancellations_total"); !strings.HasSuffix(got, " 1") {
		t.Errorf("metric %q", got)
	}
	if got := ts.metric(t, "hark_http_requests_total"); !strings.Contains(got, `status="499"} 1`) {
		t.Errorf("metric %q", got)
	}
	ts.model.set(func(m *fakeModel) { m.hold = nil })
	if a := ts.transcribe(t, speechWAV(1, 2)); a.status != 200 { // the held batch was told to end
		t.Errorf("the next one: status %d: %s", a.status, a.body)
	}
}

func TestHangUpWhileSending(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.SpoolThreshold = 100 })
	contentType, body := form(speechWAV(1, 1), "model", "fake")
	pipe, w := io.Pipe()
	sent := make(chan struct{})
	go func() {
		w.Write(body[:10_000])
		close(sent)
	}()
	hangUp(t, ts, pipe, contentType, func() bool { return ts.pending.Load() == 1 })
	w.Close()
	<-sent
	eventually(t, "the place is free", func() bool { return ts.pending.Load() == 0 })
	eventually(t, "the log tells", func() bool { return strings.Contains(ts.log.String(), `"code":"malformed_body"`) }) // the link may be half-closed only
	wantEmpty(t, ts.cfg.SpoolDir)
}

// serveHere runs Serve on a link of its own and returns its address, a function that
// begins the stop, and Serve's result.
func serveHere(t *testing.T, change func(*Config)) (ts *testServer, stop func(), ended chan error) {
	t.Helper()
	model := newFakeModel("fake")
	registry := engine.NewRegistry(engine.RegistryConfig{Load: func(context.Context, string) (engine.Model, error) { return model, nil }})
	cfg := Config{Models: []string{"fake"}, SpoolDir: t.TempDir()}
	change(&cfg)
	log := &syncBuffer{}
	s, err := New(cfg, registry, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Warm(context.Background()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended = make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(stop)
	return &testServer{s, model, "http://" + l.Addr().String(), log}, stop, ended
}

func TestGracefulStop(t *testing.T) {
	ts, stop, ended := serveHere(t, func(c *Config) { c.ShutdownGrace = time.Minute })
	hold := make(chan struct{})
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	first := make(chan *answer)
	before := ts.model.batches.Load()
	go func() { first <- ts.transcribe(t, speechWAV(1, 1)) }()
	eventually(t, "it runs", func() bool { return ts.model.batches.Load() > before })
	stop()
	eventually(t, "the server stops", func() bool { return ts.stopping.Load() })
	select {
	case err := <-ended:
		t.Fatalf("Serve ended under a running request: %v", err)
	default:
	}
	close(hold)
	if a := <-first; a.status != 200 {
		t.Errorf("the running request: status %d: %s", a.status, a.body)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if ts.models.Close(); !ts.model.closed.Load() {
		t.Error("the model is still in use after the stop")
	}
}

func TestStopWithoutPatience(t *testing.T) {
	ts, stop, ended := serveHere(t, func(c *Config) { c.ShutdownGrace = -1 })
	ts.model.set(func(m *fakeModel) { m.hold = make(chan struct{}) })
	first := make(chan *answer)
	before := ts.model.batches.Load()
	go func() { first <- ts.transcribe(t, speechWAV(1, 1)) }()
	eventually(t, "it runs", func() bool { return ts.model.batches.Load() > before })
	stop()
	(<-first).wantError(t, 503, "shutting_down", "")
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestStopWhileSending(t *testing.T) {
	ts, stop, ended := serveHere(t, func(c *Config) { c.ShutdownGrace = -1 })
	contentType, body := form(speechWAV(1, 1), "model", "fake")
	pipe, w := io.Pipe()
	defer w.Close()
	go w.Write(body[:10_000])
	first := make(chan *answer)
	go func() { first <- ts.request(t, "POST", "/v1/audio/transcriptions", contentType, pipe) }()
	eventually(t, "it sends", func() bool { return ts.pending.Load() == 1 })
	stop()
	(<-first).wantError(t, 503, "shutting_down", "")
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestStoppingRefuses(t *testing.T) {
	ts := newTestServer(t, nil)
	if err := ts.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	a := ts.transcribe(t, speechWAV(1, 1))
	a.wantError(t, 503, "shutting_down", "")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if a := ts.get(t, "/readyz"); a.status != 503 || a.json(t)["status"] != "stopping" {
		t.Errorf("readyz: %d %s", a.status, a.body)
	}
	if a := ts.get(t, "/healthz"); a.status != 200 {
		t.Errorf("healthz: %d", a.status)
	}
}
