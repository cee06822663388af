package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hark/access"
	"hark/jobs"
)

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

// TestJobAcrossRestart stops a server amid a job: the next one goes on behind the windows that are done, and who
// follows its events gets each of them once.
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
