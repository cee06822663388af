package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"hark/access"
	"hark/engine"
	"hark/jobs"
)

// jobServer is a server with jobs, which can be stopped and started again over the same folder.
type jobServer struct {
	*testServer
	store *jobs.Store
	dir   string
	stop  func()
}

var testKeys = jobs.Keys{[]byte("0123456789abcdef")}

// newJobServer starts a server with jobs in a folder. Files may be got from this machine.
func newJobServer(t *testing.T, dir string, change func(*Config, *jobs.Config)) *jobServer {
	t.Helper()
	return newSlowJobServer(t, dir, 0, change)
}

// newSlowJobServer starts one whose model takes its time for each window, if it takes any, one at a time.
func newSlowJobServer(t *testing.T, dir string, slow time.Duration, change func(*Config, *jobs.Config)) *jobServer {
	t.Helper()
	storing := jobs.Config{Dir: dir}
	cfg := Config{Models: []string{"fake"}, SpoolDir: t.TempDir(), WebhookKeys: testKeys, FetchPrivate: true}
	if change != nil {
		change(&cfg, &storing)
	}
	store, err := jobs.Open(storing)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Jobs = store
	model := newFakeModel("fake")
	if model.slow = slow; slow > 0 {
		model.info.MaxBatch = 1
	}
	registry := engine.NewRegistry(engine.RegistryConfig{Load: func(context.Context, string) (engine.Model, error) { return model, nil }})
	log := &syncBuffer{}
	s, err := New(cfg, registry, zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	link := httptest.NewServer(s.Handler())
	js := &jobServer{testServer: &testServer{s, model, link.URL, log}, store: store, dir: dir}
	js.stop = sync.OnceFunc(func() {
		s.refuse()
		s.jobs.close() // so that streams end
		link.Close()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := errors.Join(s.Shutdown(ctx), store.Close()); err != nil {
			t.Errorf("stop: %v", err)
		}
		registry.Close()
	})
	t.Cleanup(js.stop)
	if err := s.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	return js
}

// submit sends a file as a job.
func (js *jobServer) submit(t *testing.T, file []byte, pairs ...string) *jobReport {
	t.Helper()
	contentType, body := form(file, append([]string{"model", "fake"}, pairs...)...)
	r, err := http.NewRequest("POST", js.url+"/v1/audio/transcriptions", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Prefer", "respond-async")
	return accepted(t, do(t, r))
}

// accepted checks an answer that accepts a job.
func accepted(t *testing.T, a *answer) *jobReport {
	t.Helper()
	report := &jobReport{}
	if err := json.Unmarshal([]byte(a.body), report); err != nil || a.status != http.StatusAccepted {
		t.Fatalf("status %d, %v: %s", a.status, err, a.body)
	}
	if a.header.Get("Location") != "/v1/jobs/"+report.ID || a.header.Get("Retry-After") == "" || report.Object != "transcription.job" {
		t.Errorf("got %v %s", a.header, a.body)
	}
	return report
}

// job asks for a job.
func (js *jobServer) job(t *testing.T, id string) *jobReport {
	t.Helper()
	a := js.get(t, "/v1/jobs/"+id)
	report := &jobReport{}
	if err := json.Unmarshal([]byte(a.body), report); err != nil || a.status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", a.status, err, a.body)
	}
	return report
}

// wait waits until a job is in a state.
func (js *jobServer) wait(t *testing.T, id string, state jobs.State) *jobReport {
	t.Helper()
	var report *jobReport
	eventually(t, "job is "+string(state), func() bool {
		report = js.job(t, id)
		if report.Status != state && report.Status.Over() {
			t.Fatalf("the job is %+v, error %+v; want %s", report, report.Error, state)
		}
		return report.Status == state
	})
	return report
}

func keyring(t *testing.T, list string) *access.Keyring {
	t.Helper()
	keys, err := access.Read(strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
