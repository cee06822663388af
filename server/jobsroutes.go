package server

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"hark/jobs"
)

// jobRoutes are the calls about jobs but the one that makes them.
func (s *Server) jobRoutes(r chi.Router) {
	r.Get("/v1/jobs", s.withJobs(s.listJobs))
	r.Get("/v1/jobs/{id}", s.withJob(s.showJob))
	r.Delete("/v1/jobs/{id}", s.withJob(s.deleteJob))
	r.Post("/v1/jobs/{id}/cancel", s.withJob(s.cancelJob))
	r.Get("/v1/jobs/{id}/result", s.withJob(s.jobResult))
	r.Get("/v1/jobs/{id}/events", s.withJob(s.jobEvents))
}

// withJobs refuses a call where there are no jobs.
func (s *Server) withJobs(answer func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.jobs == nil {
			s.failUnread(w, r, s.jobsOff())
			return
		}
		answer(w, r)
	}
}

// withJob finds the job that a call is about. Another's is as unknown as none.
func (s *Server) withJob(answer func(w http.ResponseWriter, r *http.Request, j *jobs.Job)) http.HandlerFunc {
	return s.withJobs(func(w http.ResponseWriter, r *http.Request) {
		j, err := s.jobs.store.Get(chi.URLParam(r, "id"))
		if err != nil || s.cfg.Keys != nil && j.Owner != s.owner(r) {
			s.failUnread(w, r, noJob())
			return
		}
		answer(w, r, j)
	})
}

func noJob() *apiError {
	return &apiError{status: http.StatusNotFound, code: "job_not_found", param: "id",
		message: "there is no such job: it may have expired, or be another key's; GET /v1/jobs lists yours"}
}

// owner is whose jobs a request may see: its key's. Without keys all are everybody's.
func (s *Server) owner(r *http.Request) string {
	if who := recordOf(r).caller; who != nil {
		return keyCaller + who.Name()
	}
	return ""
}

// Bounds of a page of a list.
const defaultPage, maxPage = 20, 100

// listJobs answers with a page of jobs, the newest first, in the form of OpenAI's lists.
func (s *Server) listJobs(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	filter := jobs.Filter{Owned: s.cfg.Keys != nil, Owner: s.owner(r), State: jobs.State(query.Get("status"))}
	if filter.State != "" && !slices.Contains(jobs.States(), filter.State) {
		s.fail(w, r, badField("status", "invalid_value", "status is %s, want one of %v",
			quoted(string(filter.State)), jobs.States()))
		return
	}
	page := defaultPage
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			s.fail(w, r, badField("limit", "invalid_value", "limit is %s, want 1 to %d", quoted(text), maxPage))
			return
		}
		page = n
	}
	if after := query.Get("after"); after != "" {
		j, err := s.jobs.store.Get(after)
		if err != nil || filter.Owned && j.Owner != filter.Owner {
			s.fail(w, r, badField("after", "invalid_value",
				"after is %s, want the id of a job in the list", quoted(after)))
			return
		}
		filter.Before = j.Seq
	}
	list, more := s.jobs.store.List(filter, page)
	answer := struct {
		Object  string       `json:"object"`
		Data    []*jobReport `json:"data"`
		FirstID *string      `json:"first_id"`
		LastID  *string      `json:"last_id"`
		HasMore bool         `json:"has_more"`
	}{Object: "list", Data: []*jobReport{}, HasMore: more}
	for _, j := range list {
		answer.Data = append(answer.Data, s.jobs.report(j))
	}
	if n := len(list); n > 0 {
		answer.FirstID, answer.LastID = &list[0].ID, &list[n-1].ID
	}
	s.writeJSON(w, r, http.StatusOK, answer)
}

// showJob answers with a job as it stands; a done one with its text.
func (s *Server) showJob(w http.ResponseWriter, r *http.Request, j *jobs.Job) {
	report := s.jobs.report(j)
	if j.State == jobs.Done {
		t, _, err := s.jobs.transcript(j.ID)
		if err == nil {
			report.Result, err = Render(JSON, t.Result, t.Duration, t.Task, Detail{})
		}
		if err != nil {
			s.fail(w, r, jobGone(err))
			return
		}
	}
	if !j.State.Over() {
		w.Header().Set("Retry-After", pollAfter(report))
	}
	s.writeJSON(w, r, http.StatusOK, report)
}

// jobGone says of a job that was there a moment ago that it isn't any more, if that's what an error means.
func jobGone(err error) error {
	if errors.Is(err, jobs.ErrNotFound) {
		return noJob()
	}
	return err
}

// cancelJob ends a job that is not over. One that is stays as it is, and is shown.
func (s *Server) cancelJob(w http.ResponseWriter, r *http.Request, j *jobs.Job) {
	if err := s.jobs.cancel(j.ID); err != nil && !errors.Is(err, jobs.ErrOver) {
		s.fail(w, r, jobGone(err))
		return
	}
	s.showNow(w, r, j.ID)
}

func (s *Server) showNow(w http.ResponseWriter, r *http.Request, id string) {
	j, err := s.jobs.store.Get(id)
	if err != nil {
		s.fail(w, r, jobGone(err))
		return
	}
	s.writeJSON(w, r, http.StatusOK, s.jobs.report(j))
}

// deleteJob cancels a job that is not over, and removes one that is, with its result.
func (s *Server) deleteJob(w http.ResponseWriter, r *http.Request, j *jobs.Job) {
	err := s.jobs.cancel(j.ID)
	if err == nil {
		s.showNow(w, r, j.ID)
		return
	}
	if errors.Is(err, jobs.ErrOver) {
		err = s.jobs.store.Delete(j.ID)
	}
	if err != nil {
		s.fail(w, r, jobGone(err))
		return
	}
	s.writeJSON(w, r, http.StatusOK, struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Deleted bool   `json:"deleted"`
	}{j.ID, "transcription.job.deleted", true})
}

// webhookMessage is what a webhook is told, in the form of Standard Webhooks: the job as it was when it was over.
func (o *office) webhookMessage(j *jobs.Job) ([]byte, error) {
	report := o.report(j)
	report.Webhook = nil
	return marshal(struct {
		Type      string     `json:"type"`
		Timestamp string     `json:"timestamp"`
		Data      *jobReport `json:"data"`
	}{"job." + string(j.State), j.Finished.UTC().Format(time.RFC3339), report})
}

// noteWebhook counts and logs an attempt to call a webhook.
func (o *office) noteWebhook(j *jobs.Job) {
	h := j.Hook
	outcome := "delivered"
	switch h.State {
	case jobs.HookPending:
		outcome = "retried"
	case jobs.HookFailed:
		outcome = "given_up"
	}
	o.server.metrics.webhooks.WithLabelValues(outcome).Inc()
	line := o.server.log.Info()
	if h.State == jobs.HookFailed {
		line = o.server.log.Warn()
	}
	line.Str("job", j.ID).Str("webhook", h.ID).Str("outcome", outcome).Int("attempts", h.Attempts).
		Int("status", h.Status).Str("error", h.Error).Msg("webhook")
}
