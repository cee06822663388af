package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"hark/jobs"
)

// The types of a job's events, beside those of its text: see transcriptEvents.
const (
	eventQueued    = "job.queued"
	eventRunning   = "job.running"
	eventProgress  = "job.progress"
	eventDone      = "job.done"
	eventFailed    = "job.failed"
	eventCancelled = "job.cancelled"
)

// jobEvent is one thing that became of a job. All but progress are kept, with a number.
type jobEvent struct {
	Type string `json:"type"`
	// Error is why the job failed.
	Error *wireFailure `json:"error,omitempty"`
	// Job is the job as it stands, in events of progress.
	Job *jobReport `json:"job,omitempty"`
}

func (e jobEvent) bytes() []byte {
	text, err := json.Marshal(e)
	if err != nil { // there's nothing in it that can't be written
		panic(err)
	}
	return text
}

func jobQueued(*jobs.Job) []byte { return jobEvent{Type: eventQueued}.bytes() }

// tellProgressEvery is how often progress is told, if there is any.
const tellProgressEvery = time.Second

// eventPage is how many events are read from the store at once.
const eventPage = 256

// jobEvents streams what becomes of a job: all its events that the client has not seen, by their numbers, to
// the last one; and between them, without a number, how it comes on. A client that comes back with
// Last-Event-ID misses nothing and gets nothing twice.
func (s *Server) jobEvents(w http.ResponseWriter, r *http.Request, j *jobs.Job) {
	seen := r.Header.Get("Last-Event-ID")
	if seen == "" {
		seen = r.URL.Query().Get("last_event_id") // where headers can't be set
	}
	after, err := jobs.ParseEventNumber(seen)
	if err != nil || after > j.Events {
		s.fail(w, r, badField("Last-Event-ID", "invalid_value",
			"Last-Event-ID is %s, want the id of one of the job's events, of which there are %d", quoted(seen), j.Events))
		return
	}
	if seen != "" && j.State.Over() && after == j.Events {
		w.WriteHeader(http.StatusNoContent) // which keeps browsers from coming back
		return
	}
	if s.streams.Add(1) > int64(s.cfg.MaxPending) {
		s.streams.Add(-1)
		s.fail(w, r, queueFull())
		return
	}
	defer s.streams.Add(-1)
	f := &follower{office: s.jobs, stream: s.openStream(w), id: j.ID, after: after}
	f.follow(r)
}

// follower streams one job's events to one client.
type follower struct {
	office *office
	stream *eventStream
	id     string
	after  uint64 // the number of the event that was sent last
	last   progressReport
	sent   time.Time // when anything was
}

// follow streams until the job is over, the client is gone, or the server stops.
func (f *follower) follow(r *http.Request) {
	tick := time.NewTicker(tellProgressEvery)
	defer tick.Stop()
	if f.stream.keepAlive() != nil { // so that the client has its answer
		return
	}
	for {
		changed := f.office.store.Watch(f.id)
		if over, err := f.catchUp(); over || err != nil {
			return
		}
		select {
		case <-changed:
		case <-tick.C:
			if f.tellProgress() != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-f.office.stopped.Done():
			return
		}
	}
}

// catchUp sends the events that are new, and reports whether the last one is among them.
func (f *follower) catchUp() (over bool, err error) {
	for {
		events, err := f.office.store.Events(f.id, f.after, eventPage)
		if err != nil {
			return false, err
		}
		for _, e := range events {
			if err := f.stream.send(strconv.FormatUint(e.Number, 10), "", e.Data); err != nil {
				return false, err
			}
			f.after, f.sent = e.Number, time.Now()
		}
		if len(events) == eventPage {
			continue
		}
		j, err := f.office.store.Get(f.id)
		if err != nil {
			return false, err
		}
		if f.after >= j.Events {
			return j.State.Over(), nil
		}
	}
}

// tellProgress says how far the job is, if that has changed, or that the link is alive, if nothing else did.
func (f *follower) tellProgress() error {
	j, err := f.office.store.Get(f.id)
	if err != nil {
		return err
	}
	report := f.office.report(j)
	switch {
	case report.Progress != f.last:
		f.last, f.sent = report.Progress, time.Now()
		return f.stream.send("", "", jobEvent{Type: eventProgress, Job: report}.bytes())
	case time.Since(f.sent) >= keepAliveEvery:
		f.sent = time.Now()
		return f.stream.keepAlive()
	}
	return nil
}
