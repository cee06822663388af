package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hark/audioprep"
	"hark/batcher"
	"hark/engine"
	"hark/jobs"
)

// preference returns the value of one of a request's preferences (RFC 7240, section 2), and whether it has it.
func preference(r *http.Request, name string) (value string, ok bool) {
	for _, line := range r.Header.Values("Prefer") {
		for preference := range strings.FieldsFuncSeq(line, func(c rune) bool { return c == ',' || c == ';' }) {
			token, value, _ := strings.Cut(preference, "=")
			if strings.EqualFold(strings.TrimSpace(token), name) {
				return strings.Trim(strings.TrimSpace(value), `"`), true
			}
		}
	}
	return "", false
}

// prefersAsync reports whether a client would rather be answered at once and fetch the result later (RFC 7240, section 4.1).
func prefersAsync(r *http.Request) bool {
	_, ok := preference(r, "respond-async")
	return ok
}

// maxWait is the longest that a job is waited for: what the official clients wait for any answer.
const maxWait = 10 * time.Minute

// preferredWait is how long a client would rather wait for a job's result than be told where it will be (RFC 7240, section 4.3).
func preferredWait(r *http.Request) time.Duration {
	text, _ := preference(r, "wait")
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // where that is it, seconds is the most there is
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxWait)
}

// postJob is POST /v1/jobs.
func (s *Server) postJob(_ http.ResponseWriter, r *http.Request) (*reply, error) {
	if s.jobs == nil {
		return nil, s.jobsOff()
	}
	return s.jobs.accept(r, dialect{})
}

func (s *Server) jobsOff() *apiError {
	e := &apiError{status: http.StatusNotImplemented, code: "jobs_off", retry: retryNever, message: "this server takes no jobs: send the request without"}
	if s.cfg.JobsOff != "" {
		e.message = "this server takes no jobs, " + s.cfg.JobsOff + ": send the request without"
	}
	return e
}

// accept takes a request, to be done later. What can't be used is refused at once, as far as that shows in its fields and the beginning of
// its audio; what it answers with 202 is on disk.
func (o *office) accept(r *http.Request, d dialect) (*reply, error) {
	s := o.server
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxKeyBytes {
		return nil, badField("Idempotency-Key", "too_long", "the header Idempotency-Key has %d bytes, at most %d are taken", len(key), maxKeyBytes)
	}
	owner := s.owner(r)
	if j, ok := o.store.Find(owner, key); ok {
		return o.answer(r, j, nil)
	}
	limit := min(s.cfg.MaxUploadBytes, o.store.MaxBytes())
	if err := checkLength(r, limit); err != nil { // before all: what never fits is not to wait for room
		return nil, err
	}
	if err := o.store.Room(); err != nil {
		return nil, jobRefused(err)
	}
	var incoming *jobs.Incoming
	defer func() {
		if incoming != nil {
			incoming.Drop()
		}
	}()
	up, err := s.receiveWith(r, d, uploadLimits{incoming: func() (_ *spool, err error) {
		if incoming, err = o.store.Receive(); err != nil {
			return nil, spoolFailed(err)
		}
		return &spool{file: incoming.File(), into: incoming, limit: limit, share: &s.memory}, nil
	}})
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
	n := jobs.New{Job: jobs.Job{Owner: owner, Caller: caller(r), Key: key, Model: model}, Event: jobQueued}
	if n.HookURL, err = s.webhookOf(r.Context(), up); err != nil {
		return nil, err
	}
	if err := s.transcriber.check(r.Context(), model, wishes.options); err != nil {
		return nil, wishes.inFields(err, d)
	}
	url, err := s.urlOf(r.Context(), up)
	switch {
	case err != nil:
		return nil, err
	case url == "":
		if err := up.checkFile(); err != nil {
			return nil, err
		}
		if n.Length, err = s.transcriber.probe(r.Context(), up.audio.reader(r.Context()), wishes.choice, up.audio.length()); err != nil {
			return nil, up.aboutFile(err)
		}
		n.Audio = incoming
	}
	n.Request, err = json.Marshal(jobRequest{
		OpenAI: d.openAI, Task: d.task, Fields: up.fields, Name: up.label.Name, Type: up.label.Type, URL: url,
	})
	if err != nil {
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

func waitApplied(wait time.Duration) string { return fmt.Sprintf("wait=%d", int(wait.Seconds())) }

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
		return &apiError{status: http.StatusConflict, code: "key_in_use", param: "Idempotency-Key", retry: retrySoon, cause: err,
			message: "a job with the same Idempotency-Key is being accepted just now: try again after the seconds that Retry-After says"}
	case errors.Is(err, jobs.ErrClosed):
		return stopping(err)
	}
	return spoolFailed(err)
}

// probe decodes the beginning of audio, a clip at most, to find out what is wrong with it, and returns how long it is: for a recording a
// guess, by how much of the file's bytes its beginning took.
func (t *Transcriber) probe(ctx context.Context, audio *spoolReader, c Choice, bytes int64) (length time.Duration, err error) {
	const clip = maxClipSamples * time.Second / engine.SampleRate
	limit := clip
	if t.cfg.MaxDuration > 0 {
		limit = min(limit, t.cfg.MaxDuration)
	}
	err = inPlace(ctx, t.gate.clips, audio, nil, func() error {
		pcm, err := audioprep.Decode(ctx, audio, t.decodeOptions(limit, c))
		if err == nil {
			length = pcm.Info.Duration
			pcm.Close()
		}
		return err
	})
	if tooLong(err) && limit == clip {
		length = time.Duration(float64(clip) * float64(bytes) / float64(max(1, min(audio.pos, bytes))))
		return max(length, clip+time.Second), nil
	}
	return length, err
}

// check returns the *engine.OptionError of options that a model can't fulfil, if it's loaded.
func (t *Transcriber) check(ctx context.Context, model string, o engine.Options) error {
	if t.loaded(model) == nil {
		return nil
	}
	q, err := t.queue(ctx, model)
	if errors.Is(err, batcher.ErrClosed) {
		return nil // it's just being unloaded
	}
	if err != nil {
		return err
	}
	defer q.Release()
	_, err = q.Model().NewJob(make([]float32, engine.SampleRate), nil, o)
	return err
}
