package jobs

import (
	"crypto/rand"
	"strings"
	"time"
)

// State is how far a job is.
type State string

// The states. A job goes from the first to the second and then to one of the others, or
// from the first to these; it stays there.
const (
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// States lists every State.
func States() []State { return []State{Queued, Running, Done, Failed, Cancelled} }

// Over reports whether nothing more will become of a job.
func (s State) Over() bool { return s != Queued && s != Running }

func (s State) known() bool {
	for _, k := range States() {
		if s == k {
			return true
		}
	}
	return false
}

// Job is what is known of a job, without its bytes.
type Job struct {
	// ID names it; see [NewID].
	ID string `json:"id"`
	// Seq is its place in the order in which jobs were accepted, from 1.
	Seq uint64 `json:"seq"`
	// Owner is who may see it; "" is anybody who knows its ID.
	Owner string `json:"owner,omitempty"`
	// Caller is who shares the device with others.
	Caller string `json:"caller,omitempty"`
	// Key is what its sender calls it, so that it's not accepted twice; "" is nothing.
	Key string `json:"key,omitempty"`
	// Model is the model's name.
	Model string `json:"model,omitempty"`
	// State is how far it is.
	State State `json:"state"`
	// Created is when it was accepted, Started when it first ran, Finished when it was
	// over; zero while they're to come.
	Created  time.Time `json:"created,omitzero"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// AudioBytes is the length of its audio's file; 0 while it has none yet, or none any more.
	AudioBytes int64 `json:"audio_bytes,omitempty"`
	// StoredBytes is what else it takes on disk.
	StoredBytes int64 `json:"stored_bytes,omitempty"`
	// Heard is how much of the audio its pieces are, Length how long the audio is; 0 is
	// unknown. Before it runs, Length may be a guess.
	Heard  time.Duration `json:"heard,omitempty"`
	Length time.Duration `json:"length,omitempty"`
	// Measured says that Length is no guess any more, and that its owner was charged for it.
	Measured bool `json:"measured,omitempty"`
	// Pieces and Events are how many there are of either, and Segments how many segments of text its events tell of.
	Pieces   int    `json:"pieces,omitempty"`
	Events   uint64 `json:"events,omitempty"`
	Segments int    `json:"segments,omitempty"`
	// Tries is how often it has begun since its last piece without being queued again, which
	// is how often the process has ended in it.
	Tries int `json:"tries,omitempty"`
	// Failure is why it failed.
	Failure *Failure `json:"failure,omitempty"`
	// Hook is whom to tell when it's over; nil: nobody.
	Hook *Hook `json:"hook,omitempty"`
}

// Failure is why a job failed, as an answer over HTTP would have told it.
type Failure struct {
	Status  int    `json:"status"`
	Type    string `json:"type"`
	Code    string `json:"code,omitempty"`
	Param   string `json:"param,omitempty"`
	Message string `json:"message"`
}

// HookState is how far a webhook is.
type HookState string

// The states of a webhook.
const (
	HookWaiting   HookState = "waiting" // for the job
	HookPending   HookState = "pending" // to be called, again or for the first time
	HookDelivered HookState = "delivered"
	HookFailed    HookState = "failed" // given up
)

// Hook is a webhook of one job.
type Hook struct {
	URL string `json:"url"`
	// ID is the message's, the same in every attempt.
	ID    string    `json:"id"`
	State HookState `json:"state"`
	// Attempts is how many there were, Next when there'll be another.
	Attempts int       `json:"attempts,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	// Status and Error are what the last attempt was answered with, if it was, or why not.
	// Delivered is when it went well.
	Status    int       `json:"status,omitempty"`
	Error     string    `json:"error,omitempty"`
	Delivered time.Time `json:"delivered,omitzero"`
}

// idPrefix begins every job's id, and idLength is how long it is: 130 bits at random behind it, which nobody guesses.
const idPrefix, idLength = "job_", len("job_") + 26

// NewID makes the id of a job.
func NewID() string { return idPrefix + strings.ToLower(rand.Text()) }

// validID reports whether an id looks like one of NewID's, and so may name a file.
func validID(id string) bool {
	random, ok := strings.CutPrefix(id, idPrefix)
	return ok && len(id) == idLength && strings.Trim(random, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// clone is a copy that shares nothing that changes.
func (j *Job) clone() *Job {
	c := *j
	if j.Hook != nil {
		h := *j.Hook
		c.Hook = &h
	}
	return &c
}
