package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"hark/jobs"
)

// postJob is POST /v1/jobs.
func (s *Server) postJob(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	if s.jobs == nil {
		return nil, s.jobsOff()
	}
	return s.jobs.accept(r, dialect{})
}

func (s *Server) jobsOff() *apiError {
	e := &apiError{status: http.StatusNotImplemented, code: "jobs_off", retry: retryNever,
		message: "this server takes no jobs: send the request without"}
	if s.cfg.JobsOff != "" {
		e.message = "this server takes no jobs, " + s.cfg.JobsOff + ": send the request without"
	}
	return e
}

// accept takes a request, to be done later. What can't be used is refused at once, as far as that shows in its fields
// and the beginning of its audio; what it answers with 202 is on disk.
func (o *office) accept(r *http.Request, d dialect) (*reply, error) {
	s := o.server
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxKeyBytes {
		return nil, badField("Idempotency-Key", "too_long",
			"the header Idempotency-Key has %d bytes, at most %d are taken", len(key), maxKeyBytes)
	}
	owner := s.owner(r)
	if j, ok := o.store.Find(owner, key); ok {
		return o.answer(r, j, nil)
	}
	up, incoming, err := o.receive(r, d)
	if incoming != nil {
		defer incoming.Drop()
	}
	if err != nil {
		return nil, err
	}
	defer up.Close()
	wishes, model, err := s.judge(up, r, d)
	if err != nil {
		return nil, err
	}
	if wishes.stream {
		wishes.warn("stream is ignored: the job's events_url has them")
	}
	recordOf(r).warnings = wishes.warnings
	n := jobs.New{Job: jobs.Job{Owner: owner, Caller: caller(r), Key: key, Model: model}, Audio: incoming, Event: jobQueued}
	if err := o.specify(r.Context(), &n, up, wishes, d); err != nil {
		return nil, err
	}
	j, fresh, err := o.store.Accept(n)
	if err != nil {
		return nil, jobRefused(err)
	}
	if fresh {
		s.metrics.jobsAccepted.Inc()
	}
	return o.answer(r, j, wishes.warnings)
}

// specify puts into a job whom to tell of it, its request, and how long its audio is or the URL instead of audio.
func (o *office) specify(ctx context.Context, n *jobs.New, up *upload, wishes *wishes, d dialect) (err error) {
	s := o.server
	if n.HookURL, err = s.webhookOf(ctx, up); err != nil {
		return err
	}
	if err := s.transcriber.check(ctx, n.Model, wishes.options); err != nil {
		return wishes.inFields(err, d)
	}
	url, err := s.urlOf(ctx, up)
	if err != nil {
		return err
	}
	if url != "" {
		n.Audio = nil
	} else if n.Length, err = s.probe(ctx, up, wishes.choice); err != nil {
		return err
	}
	n.Request, err = json.Marshal(jobRequest{
		OpenAI: d.openAI, Task: d.task, Fields: up.fields, Name: up.label.Name, Type: up.label.Type, URL: url,
	})
	return err
}

// receive stores a job's body, its audio where jobs have theirs. What there is of
// that, also beside an error, the caller drops.
func (o *office) receive(r *http.Request, d dialect) (up *upload, incoming *jobs.Incoming, err error) {
	s := o.server
	limit := min(s.cfg.MaxUploadBytes, o.store.MaxBytes())
	if err := checkLength(r, limit); err != nil { // before all: what never fits is not to wait for room
		return nil, nil, err
	}
	if err := o.store.Room(); err != nil {
		return nil, nil, jobRefused(err)
	}
	up, err = s.receiveWith(r, d, uploadLimits{incoming: func() (_ *spool, err error) {
		if incoming, err = o.store.Receive(); err != nil {
			return nil, spoolFailed(err)
		}
		return &spool{file: incoming.File(), into: incoming, limit: limit, share: &s.memory}, nil
	}})
	return up, incoming, err
}

// answer is a job's result if it comes within the time that the client would wait for it, else where the job is found.
func (o *office) answer(r *http.Request, j *jobs.Job, warnings []string) (*reply, error) {
	recordOf(r).job = j.ID
	wait := preferredWait(r)
	if wait == 0 || !o.await(r, j.ID, wait) {
		return o.accepted(r, j, warnings)
	}
	j, err := o.store.Get(j.ID)
	if err != nil {
		return nil, jobGone(err)
	}
	answer, err := o.outcome(withoutQuery(r), j)
	if err != nil {
		return nil, err
	}
	answer.header.Set("Content-Location", o.report(j).Answer)
	answer.header.Set("Preference-Applied", waitApplied(wait))
	return answer, nil
}

// await reports whether a job is over within a time. Who waits leaves the request's place to others.
func (o *office) await(r *http.Request, id string, wait time.Duration) bool {
	s := o.server
	if s.streams.Add(1) > int64(s.cfg.MaxPending) {
		s.streams.Add(-1)
		return false
	}
	defer s.streams.Add(-1)
	recordOf(r).free()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		changed := o.store.Watch(id)
		if j, err := o.store.Get(id); err != nil || j.State.Over() {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		case <-r.Context().Done():
			return false
		case <-o.stopped.Done():
			return false
		}
	}
}

// maxKeyBytes is the longest Idempotency-Key, as payment services have it.
const maxKeyBytes = 255

// accepted tells where a job is found.
func (o *office) accepted(r *http.Request, j *jobs.Job, warnings []string) (*reply, error) {
	report := o.report(j)
	text, err := marshal(report)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	h.Set("Location", report.URL)
	h.Set("Retry-After", pollAfter(report))
	if prefersAsync(r) {
		h.Add("Preference-Applied", "respond-async")
	}
	if wait := preferredWait(r); wait > 0 {
		h.Add("Preference-Applied", waitApplied(wait))
	}
	for _, warning := range warnings {
		h.Add("X-Hark-Warning", warning)
	}
	return &reply{status: http.StatusAccepted, header: h, contentType: "application/json", text: text}, nil
}

// webhookFields are the fields for whom to tell of a job: its own name and the one that other servers have.
var webhookFields = []string{"webhook", "webhook_url"}

// webhookOf returns whom a request wants to be told, "" for nobody.
func (s *Server) webhookOf(ctx context.Context, up *upload) (string, error) {
	for _, name := range webhookFields {
		url, err := up.fields.text(name)
		if err != nil {
			return "", err
		}
		if url == "" {
			continue
		}
		if err := s.fetcher.Check(ctx, url); err != nil {
			return "", fetchFailed(err, name)
		}
		return url, nil
	}
	return "", nil
}

// jobRefused maps what accepting a job failed with.
func jobRefused(err error) error {
	switch {
	case errors.Is(err, jobs.ErrTooMany):
		return &apiError{status: http.StatusTooManyRequests, code: "queue_full", retry: retrySoon, cause: err,
			message: "as many jobs wait as this server holds: try again after the seconds that Retry-After says"}
	case errors.Is(err, jobs.ErrInFlight):
		return &apiError{status: http.StatusConflict, code: "key_in_use", param: "Idempotency-Key",
			retry: retrySoon, cause: err,
			message: "a job with the same Idempotency-Key is being accepted just now: try again after the seconds that Retry-After says"}
	case errors.Is(err, jobs.ErrClosed):
		return stopping(err)
	}
	return spoolFailed(err)
}
