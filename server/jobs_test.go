package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/rs/zerolog"

	"hark/access"
	"hark/engine"
	"hark/fetch"
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

func TestJob(t *testing.T) {
	js := newJobServer(t, t.TempDir(), nil)
	clip := speechWAV(2.5, 1)
	want := js.transcribe(t, clip, "response_format", "verbose_json").body
	accepted := js.submit(t, clip, "response_format", "verbose_json")
	if accepted.Model != "fake" || accepted.CreatedAt == 0 || accepted.Progress.Total != 2.5 {
		t.Errorf("accepted %+v", accepted)
	}
	line := regexp.MustCompile(`"level":"info".*"status":202.*"job":"` + accepted.ID)
	eventually(t, "the log tells of the job's acceptance", func() bool { return line.MatchString(js.log.String()) })
	done := js.wait(t, accepted.ID, jobs.Done)
	var result struct{ Text string }
	if json.Unmarshal(done.Result, &result); !strings.HasPrefix(result.Text, "heard ") || done.Progress != (progressReport{2.5, 2.5}) ||
		done.StartedAt == nil || done.FinishedAt == nil || *done.ExpiresAt != *done.FinishedAt+int64(jobs.DefaultKeep.Seconds()) || done.Position != nil {
		t.Errorf("done: %+v, result %s", done, done.Result)
	}
	a := js.get(t, done.Answer)
	if a.status != http.StatusOK || a.body != want || a.header.Get("X-Hark-Model") != "fake" {
		t.Errorf("result: status %d %v\ngot  %s\nwant %s", a.status, a.header, a.body, want)
	}
	for _, format := range []string{"json", "text", "srt", "vtt", "verbose_json"} {
		want := js.transcribe(t, clip, "response_format", format)
		a := js.get(t, done.Answer+"?response_format="+format)
		if a.status != want.status || a.body != want.body || a.header.Get("Content-Type") != want.header.Get("Content-Type") {
			t.Errorf("%s: status %d\ngot  %s\nwant %s", format, a.status, a.body, want.body)
		}
	}
	js.get(t, done.Answer+"?response_format=mp3").wantError(t, 400, "invalid_value", "response_format")
	js.get(t, done.Answer+"?language=de").wantError(t, 400, "unknown_parameter", "language")
	js.get(t, done.Answer+"?timestamp_granularities[]=word").wantError(t, 400, "unsupported_value", "timestamp_granularities[]")
	if files, _ := os.ReadDir(filepath.Join(js.dir, "audio")); len(files) != 0 {
		t.Errorf("the audio of %d jobs stays", len(files))
	}
	if !strings.HasSuffix(js.metric(t, `hark_jobs_over_total{state="done"}`), " 1") || !strings.HasSuffix(js.metric(t, `hark_jobs{state="done"}`), " 1") || !strings.HasSuffix(js.metric(t, "hark_jobs_accepted_total"), " 1") {
		t.Error("the metrics do not tell of the job")
	}
	if strings.Contains(js.log.String(), result.Text) {
		t.Error("the log has the text")
	}
}

// TestPostJob sends the same fields to a path of its own, in every way that a file can come.
func TestPostJob(t *testing.T) {
	js := newJobServer(t, t.TempDir(), nil)
	clip := speechWAV(2, 3)
	want := js.post(t, "/v1/transcribe", clip).json(t)["text"]
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write(clip) }))
	defer files.Close()
	for name, a := range map[string]*answer{
		"form":       js.post(t, "/v1/jobs", clip, "language", "en"),
		"bare":       js.request(t, "POST", "/v1/jobs?language=en", "audio/wav", strings.NewReader(string(clip))),
		"url":        js.post(t, "/v1/jobs", nil, "url", files.URL+"/a.wav"),
		"json":       js.request(t, "POST", "/v1/jobs", "application/json", strings.NewReader(fmt.Sprintf(`{"url":%q,"timestamp_granularities":["word"]}`, files.URL))),
		"plain form": js.request(t, "POST", "/v1/jobs", "application/x-www-form-urlencoded", strings.NewReader("language=en&url="+files.URL)),
	} {
		j := js.wait(t, accepted(t, a).ID, jobs.Done)
		result := js.get(t, j.Answer).json(t)
		if result["text"] != want || result["hark"] == nil {
			t.Errorf("%s: got %v, want %v", name, result, want)
		}
		if _, ok := result["words"]; ok != (name == "json") {
			t.Errorf("%s: has words: %v", name, ok)
		}
	}
}

// TestJobRefusals: what can't be done is refused at once, and nothing of it is kept.
func TestJobRefusals(t *testing.T) {
	js := newJobServer(t, t.TempDir(), func(c *Config, _ *jobs.Config) { c.FetchPrivate = false })
	clip := speechWAV(1, 1)
	for _, c := range []struct {
		name        string
		file        []byte
		pairs       []string
		status      int
		code, param string
	}{
		{"no file", nil, nil, 400, "missing_required_parameter", "file"},
		{"empty file", []byte{}, nil, 400, "empty_audio", "file"},
		{"not audio", []byte(strings.Repeat("<p>not audio</p>", 99)), nil, 415, "unsupported_format", "file"},
		{"a header alone", clip[:44], nil, 400, "empty_audio", "file"},
		{"no such track", clip, []string{"track", "7"}, 400, "unsupported_value", "track"},
		{"unknown model", clip, []string{"model", "none"}, 404, "model_not_found", "model"},
		{"bad format", clip, []string{"response_format", "mp3"}, 400, "invalid_value", "response_format"},
		{"a language that the model does not know", clip, []string{"language", "fr"}, 400, "unsupported_value", "language"},
		{"a private webhook", clip, []string{"webhook", "http://127.0.0.1/"}, 400, "url_refused", "webhook"},
		{"a webhook that is none", clip, []string{"webhook_url", "mailto:a@b.example"}, 400, "url_refused", "webhook_url"},
		{"a private url", nil, []string{"url", "http://127.0.0.1/"}, 400, "url_refused", "url"},
		{"the metadata service", nil, []string{"url", "http://169.254.169.254/latest/meta-data/"}, 400, "url_refused", "url"},
		{"a file and a url", clip, []string{"url", "http://a.example/"}, 400, "conflicting_values", "url"},
	} {
		t.Run(c.name, func(t *testing.T) {
			js.post(t, "/v1/jobs", c.file, c.pairs...).wantError(t, c.status, c.code, c.param)
		})
	}
	if list, _ := js.store.List(jobs.Filter{}, 9); len(list) != 0 {
		t.Errorf("%d jobs were accepted", len(list))
	}
	for _, dir := range []string{"audio", "incoming"} {
		if files, _ := os.ReadDir(filepath.Join(js.dir, dir)); len(files) != 0 {
			t.Errorf("%d files stay in %s", len(files), dir)
		}
	}
	js.get(t, "/v1/jobs/job_none").wantError(t, 404, "job_not_found", "id")
	js.get(t, "/v1/jobs?status=lost").wantError(t, 400, "invalid_value", "status")
	js.get(t, "/v1/jobs?limit=0").wantError(t, 400, "invalid_value", "limit")
	js.get(t, "/v1/jobs?after=job_none").wantError(t, 400, "invalid_value", "after")
}

func TestJobsOff(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.JobsOff = "since a test says so" })
	clip := speechWAV(1, 1)
	ts.post(t, "/v1/jobs", clip).wantError(t, 501, "jobs_off", "")
	ts.get(t, "/v1/jobs").wantError(t, 501, "jobs_off", "")
	contentType, body := form(clip, "model", "fake")
	r, err := http.NewRequest("POST", ts.url+"/v1/audio/transcriptions", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Prefer", "respond-async, wait=10")
	if a := do(t, r); a.status != http.StatusOK || !strings.Contains(a.header.Get("X-Hark-Warning"), "respond-async") {
		t.Errorf("status %d %v %s", a.status, a.header, a.body)
	}
}

func TestCancelJob(t *testing.T) {
	js := newJobServer(t, t.TempDir(), nil)
	hold := make(chan struct{})
	defer close(hold)
	js.model.set(func(m *fakeModel) { m.hold = hold })
	running := js.submit(t, speechWAV(3, 1))
	js.wait(t, running.ID, jobs.Running)
	js.get(t, running.Answer).wantError(t, 409, "job_not_done", "")
	if a := js.get(t, running.Answer); a.header.Get("Retry-After") == "" {
		t.Error("409 without Retry-After")
	}
	<-js.model.begun
	a := js.request(t, "POST", running.URL+"/cancel", "", nil)
	if a.status != 200 || a.json(t)["status"] != "cancelled" {
		t.Errorf("cancel: %d %s", a.status, a.body)
	}
	eventually(t, "the run to end", func() bool { return js.jobs.runOf(running.ID) == nil })
	js.get(t, running.Answer).wantError(t, 410, "job_cancelled", "")
	if a := js.request(t, "POST", running.URL+"/cancel", "", nil); a.status != 200 || a.json(t)["status"] != "cancelled" {
		t.Errorf("cancelled again: %d %s", a.status, a.body)
	}
	other := js.submit(t, speechWAV(3, 2))
	if a := js.request(t, "DELETE", other.URL, "", nil); a.status != 200 || a.json(t)["status"] != "cancelled" {
		t.Errorf("delete of an unfinished job: %d %s", a.status, a.body)
	}
	if a := js.request(t, "DELETE", other.URL, "", nil); a.status != 200 || a.json(t)["deleted"] != true {
		t.Errorf("delete of a job that is over: %d %s", a.status, a.body)
	}
	js.get(t, other.URL).wantError(t, 404, "job_not_found", "id")
}

// TestFailedJob: what shows only when a job runs is told as the answer would have.
func TestFailedJob(t *testing.T) {
	const roomForJobs = 2 << 20
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "audio/wav")
			io.WriteString(w, strings.Repeat("<p>a page</p>", 99))
		case "/large":
			w.Header().Set("Content-Length", fmt.Sprint(roomForJobs+1))
			w.Write(make([]byte, roomForJobs+1))
		default:
			http.NotFound(w, r)
		}
	}))
	defer files.Close()
	js := newJobServer(t, t.TempDir(), func(c *Config, jobs *jobs.Config) { c.MaxDuration, jobs.MaxBytes = 40*time.Second, roomForJobs })
	for _, c := range []struct {
		name        string
		file        []byte
		pairs       []string
		status      int
		code, param string
	}{
		{"too long", speechWAV(45, 1), nil, 413, "audio_too_long", "file"},
		{"a page at its url", nil, []string{"url", files.URL + "/page"}, 415, "unsupported_format", "file"},
		{"more at its url than fits", nil, []string{"url", files.URL + "/large"}, 413, "file_too_large", "url"},
		{"nothing at its url", nil, []string{"url", files.URL + "/none"}, 400, "url_unreadable", "url"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := js.wait(t, accepted(t, js.post(t, "/v1/jobs", c.file, c.pairs...)).ID, jobs.Failed)
			if e := j.Error; e.Status != c.status || *e.Code != c.code || *e.Param != c.param || e.Message == "" {
				t.Errorf("got %+v", e)
			}
			js.get(t, j.Answer).wantError(t, c.status, c.code, c.param)
		})
	}
}

// TestModelGone: a job whose model isn't served any more fails and says so.
func TestModelGone(t *testing.T) {
	dir := t.TempDir()
	js := newJobServer(t, dir, nil)
	hold := make(chan struct{})
	js.model.set(func(m *fakeModel) { m.hold = hold })
	j := js.submit(t, speechWAV(1, 1))
	js.stop()
	close(hold)
	js = newJobServer(t, dir, func(c *Config, _ *jobs.Config) { c.Models = []string{"other"} })
	if e := js.wait(t, j.ID, jobs.Failed).Error; *e.Code != "model_not_found" || !strings.Contains(e.Message, `"fake"`) {
		t.Errorf("got %+v", e)
	}
}

func TestListJobs(t *testing.T) {
	keys := keyring(t, "ann:0123456789abcdefghijklmnopqrstuvwxyz0000000\nbob:1123456789abcdefghijklmnopqrstuvwxyz0000000")
	js := newJobServer(t, t.TempDir(), func(c *Config, _ *jobs.Config) { c.Keys = keys })
	as := func(key, method, path string, pairs ...string) *answer {
		var body io.Reader
		contentType := ""
		if method == "POST" {
			var text []byte
			contentType, text = form(speechWAV(1, 1), pairs...)
			body = strings.NewReader(string(text))
		}
		r, err := http.NewRequest(method, js.url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Authorization", "Bearer "+key)
		return do(t, r)
	}
	const ann, bob = "0123456789abcdefghijklmnopqrstuvwxyz0000000", "1123456789abcdefghijklmnopqrstuvwxyz0000000"
	var ids []string
	for range 3 {
		ids = append(ids, accepted(t, as(ann, "POST", "/v1/jobs")).ID)
	}
	other := accepted(t, as(bob, "POST", "/v1/jobs")).ID
	page := as(ann, "GET", "/v1/jobs?limit=2").json(t)
	if page["has_more"] != true || page["first_id"] != ids[2] || page["last_id"] != ids[1] || len(page["data"].([]any)) != 2 {
		t.Errorf("first page: %v", page)
	}
	page = as(ann, "GET", "/v1/jobs?limit=2&after="+ids[1]).json(t)
	if page["has_more"] != false || page["first_id"] != ids[0] || len(page["data"].([]any)) != 1 {
		t.Errorf("second page: %v", page)
	}
	if page := as(bob, "GET", "/v1/jobs").json(t); len(page["data"].([]any)) != 1 || page["first_id"] != other {
		t.Errorf("another's: %v", page)
	}
	for _, path := range []string{"", "/result", "/events"} {
		as(bob, "GET", "/v1/jobs/"+ids[0]+path).wantError(t, 404, "job_not_found", "id")
	}
	as(bob, "DELETE", "/v1/jobs/"+ids[0]).wantError(t, 404, "job_not_found", "id")
	as("none", "GET", "/v1/jobs").wantError(t, 401, "invalid_api_key", "")
	js.get(t, "/v1/jobs").wantError(t, 401, "invalid_api_key", "")
}

func keyring(t *testing.T, list string) *access.Keyring {
	t.Helper()
	keys, err := access.Read(strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestIdempotentJob: the same key is the same job.
func TestIdempotentJob(t *testing.T) {
	js := newJobServer(t, t.TempDir(), nil)
	send := func(key string) *answer {
		r, err := http.NewRequest("POST", js.url+"/v1/jobs", strings.NewReader(string(speechWAV(1, 1))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", key)
		return do(t, r)
	}
	first, again, other := accepted(t, send("one")), accepted(t, send("one")), accepted(t, send("two"))
	if first.ID != again.ID || first.ID == other.ID {
		t.Errorf("got %s, %s and %s", first.ID, again.ID, other.ID)
	}
	send(strings.Repeat("k", 256)).wantError(t, 400, "too_long", "Idempotency-Key")
}

// TestJobsFull: what has no room is refused in whole, and can be sent again later.
func TestJobsFull(t *testing.T) {
	clip := speechWAV(1, 1)
	js := newJobServer(t, t.TempDir(), func(_ *Config, c *jobs.Config) { c.MaxBytes, c.MaxOpen = int64(len(clip))*5/2, 3 })
	never := js.post(t, "/v1/jobs", speechWAV(3, 1))
	never.wantError(t, 413, "file_too_large", "file")
	if never.header.Get("X-Should-Retry") != "false" {
		t.Error("what never fits is asked for again")
	}
	hold := make(chan struct{})
	js.model.set(func(m *fakeModel) { m.hold = hold })
	first := js.submit(t, clip)
	js.submit(t, clip)
	a := js.post(t, "/v1/jobs", clip)
	a.wantError(t, 507, "storage_full", "")
	if a.header.Get("Retry-After") == "" {
		t.Error("507 without Retry-After")
	}
	if files, _ := os.ReadDir(filepath.Join(js.dir, "incoming")); len(files) != 0 {
		t.Errorf("%d files stay of what was refused", len(files))
	}
	close(hold)
	js.wait(t, first.ID, jobs.Done)
	accepted(t, js.post(t, "/v1/jobs", clip))

	// What is kept of jobs that are over makes no room by itself.
	js = newJobServer(t, t.TempDir(), func(_ *Config, c *jobs.Config) { c.MaxBytes = int64(len(clip)) + 1000 })
	done := js.submit(t, clip)
	js.wait(t, done.ID, jobs.Done)
	kept := js.post(t, "/v1/jobs", clip)
	kept.wantError(t, 507, "storage_full", "")
	if kept.header.Get("X-Should-Retry") != "false" || kept.header.Get("Retry-After") != "" {
		t.Errorf("kept results are in the way: %v", kept.header)
	}
	// But what doesn't fit even then isn't told to wait for it: by its length, or as soon as that shows.
	js.post(t, "/v1/jobs", make([]byte, len(clip)+maxFieldsBytes+2000)).wantError(t, 413, "file_too_large", "file")
	if !strings.Contains(string(kept.body), fmt.Sprintf("up to %d bytes", len(clip)+1000)) {
		t.Errorf("what would fit is not told: %s", kept.body)
	}
	js.request(t, "DELETE", done.URL, "", nil)
	accepted(t, js.post(t, "/v1/jobs", clip))

	js = newJobServer(t, t.TempDir(), func(_ *Config, c *jobs.Config) { c.MaxOpen = 1 })
	hold = make(chan struct{})
	defer close(hold)
	js.model.set(func(m *fakeModel) { m.hold = hold })
	js.submit(t, clip)
	js.post(t, "/v1/jobs", clip).wantError(t, 429, "queue_full", "")
}

// sseEvent is an event as a client reads it.
type sseEvent struct {
	id   string
	data map[string]any
}

// readEvents reads a job's events behind one, until the stream ends or there are n with a number.
func (js *jobServer) readEvents(t *testing.T, id, after string, n int) (events []sseEvent) {
	t.Helper()
	r, err := http.NewRequest("GET", js.url+"/v1/jobs/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d %v", a.StatusCode, a.Header)
	}
	var e sseEvent
	for lines := bufio.NewScanner(a.Body); len(events) < n && lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			e.id = line[4:]
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(line[6:]), &e.data); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
		case line == "" && e.id != "":
			events = append(events, e)
			e = sseEvent{}
		}
	}
	return events
}

const allEvents = 1 << 20

func kinds(events []sseEvent) string {
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("%s %s", e.id, strings.TrimPrefix(strings.TrimPrefix(e.data["type"].(string), "job."), "transcript.text.")))
	}
	return strings.Join(all, ", ")
}

func TestJobEvents(t *testing.T) {
	js := newSlowJobServer(t, t.TempDir(), time.Millisecond, nil)
	j := js.submit(t, speechWAV(100, 1))
	events := js.readEvents(t, j.ID, "", allEvents)
	text := ""
	for _, e := range events {
		if e.data["type"] == "transcript.text.delta" {
			text += e.data["delta"].(string)
		}
	}
	last := events[len(events)-2]
	if last.data["text"] != text || text == "" {
		t.Errorf("deltas make %q, the text is %q", text, last.data["text"])
	}
	n := len(events)
	if got := kinds(events[:3]) + " … " + kinds(events[n-2:]); got != fmt.Sprintf("1 queued, 2 running, 3 delta … %d done, %d done", n-1, n) {
		t.Errorf("got %s", got)
	}
	for after := range n - 1 {
		rest := js.readEvents(t, j.ID, events[after].id, allEvents)
		if got, want := kinds(rest), kinds(events[after+1:]); got != want {
			t.Errorf("after %d: got %s, want %s", after+1, got, want)
		}
	}
	status := func(id string) int {
		r, _ := http.NewRequest("GET", js.url+j.Events, nil)
		r.Header.Set("Last-Event-ID", id)
		return do(t, r).status
	}
	for id, want := range map[string]int{events[n-1].id: 204, fmt.Sprint(n + 1): 400, "-1": 400, "x": 400, "01": 400} {
		if got := status(id); got != want {
			t.Errorf("Last-Event-ID %s: got %d, want %d", id, got, want)
		}
	}
}

// TestJobAcrossRestart stops a server amid a job: the next one goes on behind the windows that are done, and who follows its events
// gets each of them once.
func TestJobAcrossRestart(t *testing.T) {
	dir := t.TempDir()
	long := speechWAV(100, 1)
	js := newSlowJobServer(t, dir, 50*time.Millisecond, nil)
	want := js.post(t, "/v1/transcribe", long).json(t)["text"]
	whole := js.model.windows.Load() - 1 // one was to warm up
	j := js.submit(t, long)
	before := js.readEvents(t, j.ID, "", 4)
	js.stop()
	first := js.model.windows.Load() - 1 - whole

	js = newJobServer(t, dir, nil)
	after := js.readEvents(t, j.ID, before[len(before)-1].id, allEvents)
	text := ""
	for i, e := range append(before, after...) {
		if e.id != fmt.Sprint(i+1) {
			t.Errorf("event %d has the id %s", i+1, e.id)
		}
		if e.data["type"] == "transcript.text.delta" {
			text += e.data["delta"].(string)
		}
	}
	if text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	done := js.wait(t, j.ID, jobs.Done)
	if got := js.get(t, done.Answer).json(t)["text"]; got != want {
		t.Errorf("result %v\nwant %v", got, want)
	}
	// Two of the events told of a window each, which is kept; what ran when the server stopped may run again.
	if again := js.model.windows.Load() - 1; first < 2 || first+again < whole || again > whole-2 {
		t.Errorf("%d windows ran, then %d, of %d in all", first, again, whole)
	}
}

// TestOfficialClientJob: OpenAI's own client makes a job by a header more, and fetches it where it is told to.
func TestOfficialClientJob(t *testing.T) {
	js := newJobServer(t, t.TempDir(), nil)
	client := officialClient(js.testServer)
	var answer *http.Response
	_, err := client.Audio.Transcriptions.New(t.Context(), openai.AudioTranscriptionNewParams{
		Model: "whisper-1", File: openai.File(bytes.NewReader(speechWAV(2, 1)), "clip.wav", "audio/wav"),
	}, option.WithHeader("Prefer", "respond-async"), option.WithResponseInto(&answer))
	if err != nil || answer.StatusCode != http.StatusAccepted || answer.Header.Get("Preference-Applied") != "respond-async" {
		t.Fatalf("%v: %v", err, answer)
	}
	var job jobReport
	eventually(t, "the job is done", func() bool {
		if err := client.Get(t.Context(), strings.TrimPrefix(answer.Header.Get("Location"), "/v1/"), nil, &job); err != nil {
			t.Fatal(err)
		}
		return job.Status == jobs.Done
	})
	var result openai.Transcription
	if err := client.Get(t.Context(), strings.TrimPrefix(job.Answer, "/v1/"), nil, &result); err != nil || !strings.HasPrefix(result.Text, "heard ") {
		t.Errorf("got %q, %v", result.Text, err)
	}
}

// TestJobDeadline: a job that can't be ready in time fails and says so.
func TestJobDeadline(t *testing.T) {
	js := newJobServer(t, t.TempDir(), nil)
	hold := make(chan struct{})
	defer close(hold)
	js.model.set(func(m *fakeModel) { m.hold = hold })
	j := js.wait(t, js.submit(t, speechWAV(2, 1), "deadline_ms", "50").ID, jobs.Failed)
	if *j.Error.Param != "deadline_ms" || j.Error.Status < 400 {
		t.Errorf("got %+v", j.Error)
	}
}

// TestJobTriedAgain: what fails by the server's fault is tried again, a few times.
func TestJobTriedAgain(t *testing.T) {
	js := newJobServer(t, t.TempDir(), nil)
	js.model.set(func(m *fakeModel) { m.fail = errors.New("a bad moment") })
	j := js.submit(t, speechWAV(2, 1))
	eventually(t, "it was tried, and waits", func() bool { return js.jobs.tries(j.ID) > 0 && js.job(t, j.ID).Status == jobs.Queued })
	js.model.set(func(m *fakeModel) { m.fail = nil })
	js.wait(t, j.ID, jobs.Done)
}

// TestWebhook follows a job's webhook to its receiver.
func TestWebhook(t *testing.T) {
	got := make(chan *http.Request, 9)
	bodies := make(chan string, 9)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r
		bodies <- string(body)
	}))
	defer receiver.Close()
	js := newJobServer(t, t.TempDir(), nil)
	j := js.submit(t, speechWAV(1, 1), "webhook", receiver.URL+"/hook?secret=1")
	if j.Webhook == nil || j.Webhook.Status == "" {
		t.Fatalf("accepted %+v", j)
	}
	r, body := <-got, <-bodies
	var message struct {
		Type, Timestamp string
		Data            jobReport
	}
	if err := json.Unmarshal([]byte(body), &message); err != nil || message.Type != "job.done" || message.Data.ID != j.ID || message.Data.Status != jobs.Done {
		t.Errorf("%v: %s", err, body)
	}
	if r.Header.Get("Webhook-Id") != j.Webhook.ID || !strings.HasPrefix(r.Header.Get("Webhook-Signature"), "v1,") || r.URL.RawQuery != "secret=1" {
		t.Errorf("got %v", r.Header)
	}
	eventually(t, "delivered", func() bool { return js.job(t, j.ID).Webhook.Status == jobs.HookDelivered })
	if !strings.HasSuffix(js.metric(t, `hark_webhook_attempts_total{outcome="delivered"}`), " 1") || strings.Contains(js.get(t, j.URL).body, "secret") {
		t.Error("the metrics do not tell, or the job tells too much")
	}
}

// TestChoose: who has the fewest jobs that run goes next, and long recordings of one caller leave room.
func TestChoose(t *testing.T) {
	o := &office{running: map[string]*jobRun{}}
	job := func(caller string, length time.Duration) *jobs.Job { return &jobs.Job{Caller: caller, Length: length} }
	runs := func(n int, j *jobs.Job) {
		for range n {
			o.running[fmt.Sprint(len(o.running))] = &jobRun{job: j}
		}
	}
	waiting := []*jobs.Job{job("a", time.Hour), job("a", time.Second), job("b", time.Hour)}
	if at := o.choose(waiting); at != 0 {
		t.Errorf("at first %d goes", at)
	}
	runs(1, job("a", time.Hour))
	if at := o.choose(waiting); at != 2 {
		t.Errorf("beside one of a's, %d goes", at)
	}
	runs(3, job("a", time.Hour))
	if at := o.choose(waiting); at != 2 {
		t.Errorf("beside four of a's, %d goes", at)
	}
	if at := o.choose(waiting[:2]); at != 1 {
		t.Errorf("of a's own, %d goes beside four recordings", at)
	}
	runs(maxJobsRunning-4, job("c", time.Second))
	if at := o.choose(waiting); at != -1 {
		t.Errorf("beside as many as may, %d goes", at)
	}
}

// TestDocumentedJobs: what is answered about jobs is as the document says.
func TestDocumentedJobs(t *testing.T) {
	js := newJobServer(t, t.TempDir(), nil)
	d := readDocument(t, js.testServer)
	stereo := stereoWAV(speechWAV(2, 1), speechWAV(2, 2))
	for _, format := range []string{"json", "text", "srt", "vtt", "tsv", "verbose_json", "diarized_json"} {
		a := js.post(t, "/v1/jobs", stereo, "response_format", format, "channels", "separate", "webhook", js.url)
		d.check(t, "POST", "/v1/jobs", a)
		j := js.wait(t, accepted(t, a).ID, jobs.Done)
		d.check(t, "GET", "/v1/jobs/{id}", js.get(t, j.URL))
		d.check(t, "GET", "/v1/jobs/{id}/result", js.get(t, j.Answer))
		d.check(t, "GET", "/v1/jobs/{id}/events", js.get(t, j.Events))
		d.check(t, "POST", "/v1/jobs/{id}/cancel", js.request(t, "POST", j.URL+"/cancel", "", nil))
	}
	failed := js.wait(t, accepted(t, js.post(t, "/v1/jobs", nil, "url", js.url+"/none")).ID, jobs.Failed)
	hold := make(chan struct{})
	defer close(hold)
	js.model.set(func(m *fakeModel) { m.hold = hold })
	running := accepted(t, js.post(t, "/v1/jobs", stereo))
	for _, id := range []string{failed.ID, running.ID, "none"} {
		for _, path := range []string{"", "/result"} {
			d.check(t, "GET", "/v1/jobs/{id}"+path, js.get(t, "/v1/jobs/"+id+path))
		}
	}
	d.check(t, "GET", "/v1/jobs", js.get(t, "/v1/jobs"))
	d.check(t, "GET", "/v1/jobs", js.get(t, "/v1/jobs?limit=x"))
	for range 2 {
		d.check(t, "DELETE", "/v1/jobs/{id}", js.request(t, "DELETE", running.URL, "", nil))
	}
	off := newTestServer(t, nil)
	d.check(t, "POST", "/v1/jobs", off.post(t, "/v1/jobs", stereo))
	d.check(t, "GET", "/v1/jobs", off.get(t, "/v1/jobs"))
}

// TestPreferWait: who would wait gets the result if it comes in time, else where it will be.
func TestPreferWait(t *testing.T) {
	js := newJobServer(t, t.TempDir(), func(c *Config, _ *jobs.Config) { c.MaxPending = 1 })
	clip := speechWAV(1, 1)
	contentType, body := form(clip, "model", "fake", "response_format", "text")
	ask := func(prefer string, path string) *answer {
		return js.with(t, "POST", path, bytes.NewReader(body), "Content-Type", contentType, "Prefer", prefer)
	}
	want := js.transcribe(t, clip, "response_format", "text").body
	for _, prefer := range []string{"respond-async, wait=60", "wait=60, respond-async", "respond-async; wait=60", `RESPOND-ASYNC, Wait="60"`, "respond-async, wait=99999999",
		"respond-async, wait=99999999999999999999"} {
		a := ask(prefer, transcriptionsPath)
		if a.status != 200 || a.body != want || !strings.HasPrefix(a.header.Get("Preference-Applied"), "wait=") || a.header.Get("X-Hark-Model") != "fake" {
			t.Errorf("%s: %d %v %s", prefer, a.status, a.header, a.body)
		}
		if result := js.get(t, a.header.Get("Content-Location")); result.body != want {
			t.Errorf("%s: the result is at %q: %d %s", prefer, a.header.Get("Content-Location"), result.status, result.body)
		}
	}
	if a := ask("wait=60", "/v1/jobs?language=en"); a.status != 200 || a.body != want {
		t.Errorf("POST /v1/jobs: %d %s", a.status, a.body)
	}
	// While one is waited for there is a place for the next.
	hold := make(chan struct{})
	js.model.set(func(m *fakeModel) { m.hold = hold })
	waiting := make(chan *answer)
	go func() { waiting <- ask("respond-async, wait=600", transcriptionsPath) }()
	eventually(t, "it is waited for", func() bool { return js.streams.Load() == 1 && js.pending.Load() == 0 })
	for _, prefer := range []string{"respond-async", "respond-async, wait=0", "respond-async, wait=-1", "respond-async, wait=soon", "respond-async, wait=1"} {
		a := ask(prefer, transcriptionsPath)
		accepted(t, a)
		if got := strings.Join(a.header.Values("Preference-Applied"), ", "); !strings.HasPrefix(prefer, got) {
			t.Errorf("%s: applied %q", prefer, got)
		}
	}
	close(hold)
	if a := <-waiting; a.status != 200 || a.body != want {
		t.Errorf("%d %s", a.status, a.body)
	}
	// What fails is told as it would have been.
	js.model.set(func(m *fakeModel) { m.hold = nil })
	a := js.with(t, "POST", "/v1/jobs?url="+js.url+"/none", nil, "Prefer", "wait=60")
	a.wantError(t, 400, "url_unreadable", "url")
}

// TestChargedOnce: the audio of a job that is begun again after a stop is charged to its key once.
func TestChargedOnce(t *testing.T) {
	keys := keyring(t, "ann:"+aliceKey+" audio-per-hour=1h")
	with := func(c *Config, _ *jobs.Config) { c.Keys = keys }
	dir, hold := t.TempDir(), make(chan struct{})
	js := newJobServer(t, dir, with)
	js.model.set(func(m *fakeModel) { m.hold = hold })
	j := accepted(t, js.with(t, "POST", "/v1/jobs", bytes.NewReader(speechWAV(20, 1)), "X-Api-Key", aliceKey))
	eventually(t, "it is decoded", func() bool {
		now, err := js.store.Get(j.ID)
		return err == nil && now.Measured
	})
	js.stop()
	js = newJobServer(t, dir, with)
	eventually(t, "it is done", func() bool {
		now, err := js.store.Get(j.ID)
		return err == nil && now.State == jobs.Done
	})
	if left := keys.Caller("ann").Standings(time.Now())[access.Audio]; left.Remaining < 3580 {
		t.Errorf("20 s were heard, and %d of %d s are left", left.Remaining, left.Limit)
	}
}

// TestWebhookOfNoJob: a webhook of what is no job is not called, and that is said.
func TestWebhookOfNoJob(t *testing.T) {
	js := newJobServer(t, t.TempDir(), nil)
	clip := speechWAV(1, 1)
	for _, path := range []string{transcriptionsPath, "/v1/transcribe", "/v1/explain"} {
		for _, name := range webhookFields {
			a := js.post(t, path, clip, "model", "fake", name, js.url)
			if got := a.header.Get("X-Hark-Warning"); a.status != 200 || !strings.Contains(got, name+" is ignored") {
				t.Errorf("%s: %d with warning %q", path, a.status, got)
			}
			js.post(t, path, clip, "model", "fake", name, js.url, "strict", "true").wantError(t, 400, "unsupported_parameter", name)
		}
	}
	a := js.post(t, "/v1/listen?webhook=x", clip)
	if got := strings.Join(a.header.Values("X-Hark-Warning"), ";"); !strings.Contains(got, "webhook is ignored") {
		t.Errorf("/v1/listen: %d with warning %q", a.status, got)
	}
}

// TestURL sends URLs to the calls that answer at once.
func TestURL(t *testing.T) {
	clip := speechWAV(2, 1)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a.wav":
			w.Header().Set("Content-Type", "text/html") // which nobody believes
			w.Write(clip)
		case "/large":
			w.Write(make([]byte, 2<<20))
		case "/broken":
			http.Error(w, "no", http.StatusBadGateway)
		case "/away":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		case "/empty":
		default:
			http.NotFound(w, r)
		}
	}))
	defer files.Close()
	ts := newTestServer(t, func(c *Config) { c.FetchPrivate, c.MaxUploadBytes = true, 1<<20 })
	want := ts.transcribe(t, clip).json(t)["text"]
	for name, a := range map[string]*answer{
		"form":           ts.post(t, "/v1/audio/transcriptions", nil, "model", "fake", "url", files.URL+"/a.wav"),
		"json":           ts.request(t, "POST", "/v1/audio/transcriptions", "application/json", strings.NewReader(`{"model":"fake","url":"`+files.URL+`/a.wav"}`)),
		"plain form":     ts.request(t, "POST", "/v1/audio/transcriptions", "application/x-www-form-urlencoded", strings.NewReader("model=fake&url="+files.URL+"/a.wav")),
		"query":          ts.request(t, "POST", "/v1/transcribe?url="+files.URL+"/a.wav", "", nil),
		"own plain form": ts.request(t, "POST", "/v1/transcribe", "application/x-www-form-urlencoded", strings.NewReader("url="+files.URL+"/a.wav")),
	} {
		if a.status != 200 || a.json(t)["text"] != want {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := ts.post(t, "/v1/explain", nil, "url", files.URL+"/a.wav"); a.status != 200 || a.json(t)["duration_s"] != 2.0 {
		t.Errorf("explain: %d %s", a.status, a.body)
	}
	for _, c := range []struct {
		url    string
		status int
		code   string
		param  string
	}{
		{files.URL + "/large", 413, "file_too_large", "url"},
		{files.URL + "/broken", 502, "url_unreadable", "url"},
		{files.URL + "/none", 400, "url_unreadable", "url"},
		{files.URL + "/away", 400, "url_refused", "url"},
		{files.URL + "/empty", 400, "empty_audio", "file"},
		{"file:///etc/passwd", 400, "url_refused", "url"},
		{"http://127.0.0.1:1/", 502, "url_unreadable", "url"},
	} {
		ts.post(t, "/v1/transcribe", nil, "url", c.url).wantError(t, c.status, c.code, c.param)
	}
	strict := newTestServer(t, nil)
	a := strict.post(t, "/v1/transcribe", nil, "url", files.URL+"/a.wav")
	a.wantError(t, 400, "url_refused", "url")
	for body, contentType := range map[string]string{"{": "application/json", "[1]": "application/json", `{"a":{"b":{"c":1}}}`: "application/json"} {
		if a := strict.request(t, "POST", "/v1/audio/transcriptions", contentType, strings.NewReader(body)); a.status != 400 {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}

// TestUnknownHost: a name without an address is the caller's mistake, which clients don't try again; a resolver that fails is not.
func TestUnknownHost(t *testing.T) {
	ts := newTestServer(t, nil)
	for missing, status := range map[bool]int{true: 400, false: 502} {
		ts.fetcher = fetch.New(fetch.Config{Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: missing}
		}})
		ts.post(t, "/v1/transcribe", nil, "url", "http://nobody.example/a.wav").wantError(t, status, "url_unreadable", "url")
	}
}

// TestURLRebinds: a name that leads elsewhere when it's called is refused then.
func TestURLRebinds(t *testing.T) {
	ts := newTestServer(t, nil)
	lookups := 0
	ts.fetcher = fetch.New(fetch.Config{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		if lookups++; lookups == 1 {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}})
	ts.post(t, "/v1/transcribe", nil, "url", ts.url+"/a.wav").wantError(t, 400, "url_refused", "url")
	lookups = 0
	ts.post(t, "/v1/transcribe", nil, "url", "http://rebinds.example/a.wav").wantError(t, 400, "url_refused", "url")
	if lookups != 2 {
		t.Errorf("%d lookups, want the second to be refused", lookups)
	}
}

// FuzzStored: what may be read from the store, whoever wrote it, is a request and a transcript that answers can be made of, or an error.
func FuzzStored(f *testing.F) {
	f.Add([]byte(`{"openai":true,"task":1,"fields":{"model":["fake"],"response_format":["srt"]},"url":"http://a.example/"}`))
	f.Add([]byte(`{"Result":{"Language":"en","Segments":[{"Start":1,"End":2.5,"Text":" a","Tokens":[1],"Words":[{"Text":" a","Start":1,"End":2}]}]},"Duration":3}`))
	f.Add([]byte(`{"Result":{"Segments":[{"Start":1e308,"End":-1}]},"Duration":-1,"Task":9,"Lane":7}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if q, err := decodeRequest(text); err == nil {
			parseWishes(q.Fields, q.dialect()) // must not panic
		}
		tr, err := decodeTranscript(text)
		if err != nil {
			return
		}
		again, err := encodeTranscript(tr)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if _, err := decodeTranscript(again); err != nil {
			t.Fatalf("%q became %q: %v", text, again, err)
		}
		for _, format := range Formats() {
			if _, err := present(tr, &wishes{format: format, segments: true, words: true}, dialect{openAI: true}); err != nil {
				t.Fatalf("%q as %s: %v", text, format, err)
			}
		}
	})
}

// FuzzFields: a body of fields makes the same fields however it's written, or an error for the client.
func FuzzFields(f *testing.F) {
	f.Add(`{"url":"http://a.example/","timestamp_granularities":["word"],"temperature":0.5,"stream":false,"chunking_strategy":{"type":"server_vad"}}`)
	f.Add(`{"a":[[1]],"b":null,"c":{"d":{"e":1}}}`)
	f.Add(`url=http%3A%2F%2Fa.example%2F&include[]=logprobs&x`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, read := range []func(io.Reader) (*upload, error){readJSON, readPlainForm} {
			up, err := read(strings.NewReader(body))
			if err == nil {
				_, err = parseWishes(up.fields, dialect{})
			}
			if api := (*apiError)(nil); err != nil && (!errors.As(err, &api) || api.status != 400) {
				t.Fatalf("%q: %v", body, err)
			}
		}
	})
}
