package server

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"hark/jobs"
)

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
