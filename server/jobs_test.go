package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hark/jobs"
)

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

// FuzzStored: what may be read from the store, whoever wrote it, is a request and a transcript
// that answers can be made of, or an error.
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
