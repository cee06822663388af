package server

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"hark/batcher"
	"hark/jobs"
)

// jobReport is a job as its owner sees it. Times are Unix seconds, as in OpenAI's API.
type jobReport struct {
	ID     string     `json:"id"`
	Object string     `json:"object"` // "transcription.job"
	Status jobs.State `json:"status"`
	Model  string     `json:"model"`

	CreatedAt  int64  `json:"created_at"`
	StartedAt  *int64 `json:"started_at"`
	FinishedAt *int64 `json:"finished_at"`
	ExpiresAt  *int64 `json:"expires_at"` // when it is removed with its result

	// PredictedStart and PredictedFinish are null once they are past, and while nothing is known to tell them by.
	PredictedStart  *int64 `json:"predicted_start_at"`
	PredictedFinish *int64 `json:"predicted_finish_at"`
	// Position is its place in the queue, from 1; null once it has left it.
	Position *int           `json:"queue_position"`
	Progress progressReport `json:"progress"`

	Error   *wireFailure    `json:"error"`
	Webhook *webhookReport  `json:"webhook"`
	Result  json.RawMessage `json:"result,omitempty"` // of a done job that is asked for by itself: its text

	URL    string `json:"url"`
	Events string `json:"events_url"`
	Answer string `json:"result_url"`
}

// progressReport is how much of the audio is done with, in seconds. Before it has been decoded its length is a guess.
type progressReport struct {
	Done  float64 `json:"done_s"`
	Total float64 `json:"total_s"`
}

// wireFailure is why a job failed: OpenAI's object of an error, and the status that it would have had as an answer.
type wireFailure struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
	Status  int     `json:"status"`
}

func newWireFailure(f *jobs.Failure) *wireFailure {
	if f == nil {
		return nil
	}
	return &wireFailure{f.Message, f.Type, nullable(f.Param), nullable(f.Code), f.Status}
}

// webhookReport is how a job's webhook stands. The URL isn't shown: it may hold a secret.
type webhookReport struct {
	ID          string         `json:"id"`
	Status      jobs.HookState `json:"status"`
	Attempts    int            `json:"attempts"`
	NextAttempt *int64         `json:"next_attempt_at"`
	LastStatus  *int           `json:"last_status"`
	LastError   *string        `json:"last_error"`
	DeliveredAt *int64         `json:"delivered_at"`
}

func newWebhookReport(h *jobs.Hook) *webhookReport {
	if h == nil {
		return nil
	}
	r := &webhookReport{
		ID: h.ID, Status: h.State, Attempts: h.Attempts, NextAttempt: unix(h.Next), LastError: nullable(h.Error),
		DeliveredAt: unix(h.Delivered),
	}
	if h.Status != 0 {
		r.LastStatus = &h.Status
	}
	return r
}

// unix is a time in seconds, or nil for none.
func unix(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	s := t.Unix()
	return &s
}

// report shows a job as it stands.
func (o *office) report(j *jobs.Job) *jobReport {
	at := "/v1/jobs/" + j.ID
	r := &jobReport{
		ID: j.ID, Object: "transcription.job", Status: j.State, Model: j.Model,
		CreatedAt: j.Created.Unix(), StartedAt: unix(j.Started), FinishedAt: unix(j.Finished),
		ExpiresAt: unix(o.store.Expires(j)),
		Progress:  progressReport{roundSeconds(j.Heard), roundSeconds(j.Length)},
		Error:     newWireFailure(j.Failure), Webhook: newWebhookReport(j.Hook),
		URL: at, Events: at + "/events", Answer: at + "/result",
	}
	if !j.State.Over() {
		o.forecast(j, r)
	}
	return r
}

func roundSeconds(d time.Duration) float64 { return math.Round(d.Seconds()*100) / 100 }

// forecast fills in how far a job that isn't over has come and when it will start and finish, as far as can be told.
func (o *office) forecast(j *jobs.Job, r *jobReport) {
	now := time.Now()
	if run := o.runOf(j.ID); run != nil {
		if total := time.Duration(run.total.Load()); total > 0 {
			r.Progress = progressReport{roundSeconds(time.Duration(run.done.Load())), roundSeconds(total)}
		}
		if left, ok := run.left(now); ok {
			r.PredictedFinish = unix(now.Add(left))
		}
		if r.StartedAt == nil { // it's just about to
			r.PredictedStart = unix(now)
		}
		return
	}
	position, ahead := 1, int64(0)
	for _, other := range o.store.Unfinished() {
		if other.ID == j.ID {
			break
		}
		if o.runOf(other.ID) == nil {
			position++
			ahead += costOf(other)
		}
	}
	r.Position = &position
	t := o.server.transcriber
	if wait, ok := t.predict(j.Model, j.Caller, laneOfJob(j), ahead); ok || position == 1 {
		r.PredictedStart = unix(now.Add(wait))
	}
	if wait, ok := t.predict(j.Model, j.Caller, laneOfJob(j), ahead+costOf(j)); ok && j.Length > 0 {
		r.PredictedFinish = unix(now.Add(wait))
	}
}

// left is how long a job that runs will take, by what it has done so far, or by what is waiting beside it.
func (run *jobRun) left(now time.Time) (time.Duration, bool) {
	done, total, first := run.done.Load(), run.total.Load(), run.first.Load()
	if done > first && total > 0 {
		return time.Duration(float64(now.Sub(run.began)) * float64(total-done) / float64(done-first)), true
	}
	if run.job.Length == 0 && total == 0 {
		return 0, false
	}
	return run.office.server.transcriber.predict(run.job.Model, run.job.Caller, laneOfJob(run.job), costOf(run.job))
}

// costOf is what is left of a job, in ms of audio.
func costOf(j *jobs.Job) int64 { return max(0, (j.Length - j.Heard).Milliseconds()) }

func laneOfJob(j *jobs.Job) batcher.Lane {
	if isRecording(j) {
		return batcher.Recordings
	}
	return batcher.Clips
}

// pollAfter is when it's worth asking again, in seconds, as Retry-After has it.
func pollAfter(r *jobReport) string {
	wait := int64(minRetrySeconds)
	if r.PredictedFinish != nil {
		wait = min(max(*r.PredictedFinish-time.Now().Unix(), 1), maxRetrySeconds)
	}
	return strconv.FormatInt(wait, 10)
}
