package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"hark/access"
	"hark/audioprep"
	"hark/batcher"
	"hark/engine"
)

// statusClientGone is what the log and the metrics say of a request whose client hung up; the link is aborted without
// an answer. The number is nginx's (ngx_http_request.h, NGX_HTTP_CLIENT_CLOSED_REQUEST).
const statusClientGone = 499

// apiError is an error as the wire shows it.
type apiError struct {
	status  int
	code    string // null if empty
	param   string // null if empty
	message string
	retry   retryAdvice
	wait    time.Duration      // until another try can succeed; 0: unknown
	busy    *batcher.BusyError // what the queue said, or nil
	cause   error              // for the log; nil if the message says it all
}

func (e *apiError) Error() string {
	if e.cause != nil {
		return e.message + ": " + e.cause.Error()
	}
	return e.message
}

func (e *apiError) Unwrap() error { return e.cause }

// retryAdvice is what the official clients are told about another try.
type retryAdvice uint8

const (
	retryDefault retryAdvice = iota // they know by the status
	retrySoon                       // Retry-After of some seconds
	retryNever                      // x-should-retry: false
)

// Retry-After lies between these, in seconds, at random, so that those refused together don't come back together. 8 s
// is the most that all official clients obey: Go's caps there, Node's goes back to its own shorter wait above 60 s.
const minRetrySeconds, maxRetrySeconds = 2, 8

// retrySeconds is when to come back: when a place is known to come, else at random, but no
// later than the queue as it is now would take.
func (e *apiError) retrySeconds() int {
	if e.wait > 0 {
		return int(upToSeconds(e.wait).Seconds())
	}
	most := maxRetrySeconds
	if e.busy != nil && e.busy.Predicted > 0 {
		most = min(most, max(minRetrySeconds, int(e.busy.Predicted.Seconds())))
	}
	return minRetrySeconds + rand.IntN(most-minRetrySeconds+1)
}

// kind is the error's type, as OpenAI's API names it.
func (e *apiError) kind() string {
	switch {
	case e.status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case e.status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// badField is the error for a request field that can't be used.
func badField(param, code, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, code: code, param: param, message: fmt.Sprintf(format, args...)}
}

// describe maps any error of a request to what the wire shows. ctx is the request's. It ends when the client has hung
// up, or, where that can't be told apart, only closed its half of the link or sent too slowly. So what was wrong anyhow
// is still told; all else is put down to the hang-up.
func describe(ctx context.Context, err error) *apiError {
	e := explain(err)
	var api *apiError
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return e
	case errors.Is(cause, errStopping):
		return stopping(err)
	case (errors.As(err, &api) || e.status < http.StatusInternalServerError) && !hungUp(err):
		return e
	}
	return clientGone(err)
}

// clientGone is for a request that nobody waits for any more.
func clientGone(cause error) *apiError {
	return &apiError{status: statusClientGone, code: "client_gone", message: "the client hung up", cause: cause}
}

// hungUp reports whether an error comes from the end of a request's context or from a broken link. A body that stops
// early is neither: its client may have closed only its own half of the link, and read on.
func hungUp(err error) bool {
	var link *net.OpError
	return errors.Is(err, context.Canceled) || errors.As(err, &link) && !errors.Is(err, os.ErrDeadlineExceeded)
}

// explain maps an error to what the wire shows while the client is there.
func explain(err error) *apiError {
	var api *apiError
	switch {
	case errors.As(err, &api):
		return api
	case errors.Is(err, batcher.ErrDeadline): // whatever else failed because of it
		return &apiError{status: http.StatusServiceUnavailable, code: "deadline_exceeded",
			param: "deadline_ms", retry: retryNever,
			message: "the transcript wasn't ready within deadline_ms: allow more time, or send the request when less is waiting", cause: err}
	}
	if e := audioError(err); e != nil {
		return e
	}
	if e := modelError(err); e != nil {
		return e
	}
	if e := waitError(err); e != nil {
		return e
	}
	return &apiError{status: http.StatusInternalServerError, code: "internal_error",
		message: "something went wrong in the server: its log has the reason under this answer's x-request-id", cause: err}
}

// audioError maps what is wrong with a file, or with the server's room for it; nil for any other error.
func audioError(err error) *apiError {
	var (
		format  *audioprep.FormatError
		corrupt *audioprep.CorruptError
		limit   *audioprep.LimitError
		choice  *audioprep.ChoiceError
		storage *audioprep.StorageError
	)
	switch {
	case errors.Is(err, audioprep.ErrEmpty):
		return badField("file", "empty_audio", "the file holds no audio: send at least one sample")
	case errors.As(err, &format):
		return &apiError{status: http.StatusUnsupportedMediaType, code: "unsupported_format", param: "file",
			message: formatMessage(format)}
	case errors.As(err, &corrupt):
		return badField("file", "corrupt_audio", "%v: send the file again, or convert it first", corrupt)
	case errors.As(err, &limit):
		return &apiError{status: http.StatusRequestEntityTooLarge, code: "audio_too_long", param: "file",
			message: fmt.Sprintf("the audio is longer than %v, the most that this server takes in one request: cut it into parts", limit.Max)}
	case errors.As(err, &choice):
		return badField(choice.What, "unsupported_value", "%v", choice)
	case errors.As(err, &storage):
		return spoolFailed(storage)
	}
	return nil
}

// modelError maps what a model can't do, or its device; nil for any other error.
func modelError(err error) *apiError {
	var (
		option *engine.OptionError
		memory *engine.MemoryError
	)
	switch {
	case errors.As(err, &option):
		return badField(optionParam(option.Option), "unsupported_value", "%s", option.Reason)
	case errors.Is(err, errNoPair):
		return &apiError{status: http.StatusNotFound, code: "model_not_found", param: "model", retry: retryNever,
			message: "the model \"auto\" needs a Parakeet and a Whisper, and this server does not have both: send a model's name"}
	case errors.As(err, &memory):
		return &apiError{status: http.StatusInsufficientStorage, code: "model_too_large",
			param: "model", retry: retryNever,
			message: memory.Error() + ": ask for a smaller model", cause: err}
	case errors.Is(err, batcher.ErrFatal): // wraps ErrClosed too
		return &apiError{status: http.StatusInternalServerError, code: "device_lost", retry: retryNever,
			message: "the device that runs the model can't be used any more: the server must be restarted", cause: err}
	case errors.Is(err, engine.ErrOutOfMemory):
		return &apiError{status: http.StatusInsufficientStorage, code: "out_of_memory", retry: retrySoon,
			message: "the device that runs the model has no memory left for the audio: send it again later, or in shorter parts", cause: err}
	}
	return nil
}

// waitError maps why a request was not let in, or could not stay; nil for any other error.
func waitError(err error) *apiError {
	var (
		busy      *batcher.BusyError
		allowance *access.LimitError
	)
	switch {
	case errors.As(err, &busy):
		return tooBusy(busy)
	case errors.As(err, &allowance):
		return overLimit(allowance)
	case errors.Is(err, errEventsGone):
		return &apiError{status: http.StatusGone, code: "events_gone", param: "Last-Event-ID", retry: retryNever,
			message: "the stream has no event of that number, or not any more: read faster, or begin without Last-Event-ID"}
	case errors.Is(err, batcher.ErrClosed), errors.Is(err, engine.ErrRegistryClosed):
		return stopping(err)
	}
	return nil
}

func formatMessage(e *audioprep.FormatError) string {
	found := e.Found
	if found == "" {
		found = "an unknown format"
	}
	msg := "the file is " + found + ", which is not supported"
	if e.Reason != "" {
		msg += " (" + e.Reason + ")"
	}
	msg += ": send one of " + strings.Join(e.Accepted, ", ")
	if e.Convertible() {
		msg += "; a server with ffmpeg on its PATH takes this too"
	}
	return msg
}

// optionParam is the request field behind an option of the engine.
func optionParam(option string) string {
	switch option {
	case "words", "word_timestamps":
		return "timestamp_granularities[]"
	case "languages":
		return "languages[]"
	case "temperatures":
		return "temperature"
	}
	return option
}

func queueFull() *apiError {
	return &apiError{status: http.StatusTooManyRequests, code: "queue_full", retry: retrySoon,
		message: "as many requests wait as this server holds: try again after the seconds that Retry-After says"}
}

// tooBusy is for a request that was not admitted to its lane: it says how long the answer would have taken.
func tooBusy(busy *batcher.BusyError) *apiError {
	e := queueFull()
	e.cause, e.busy = busy, busy
	wait := ""
	if busy.Predicted > 0 {
		wait = fmt.Sprintf(" (the answer would take about %v)", busy.Predicted.Round(100*time.Millisecond))
	}
	switch busy.Limit {
	case batcher.LimitDeadline:
		e.code, e.param, e.retry = "deadline_unreachable", "deadline_ms", retryNever
		e.message = "the transcript can't be ready within deadline_ms" + wait +
			": allow more time, or send the request when less is waiting"
	case batcher.LimitBytes:
		e.message = "the requests that wait hold as much audio as this server keeps" + wait +
			": try again after the seconds that Retry-After says"
	case batcher.LimitWait:
		e.message = "requests wait longer than this server lets them" + wait +
			": try again after the seconds that Retry-After says"
	default:
		e.message = "as many requests wait as this server holds" + wait +
			": try again after the seconds that Retry-After says"
	}
	return e
}

func stopping(cause error) *apiError {
	return &apiError{status: http.StatusServiceUnavailable, code: "shutting_down", retry: retrySoon,
		message: "the server is stopping: try again in some seconds", cause: cause}
}
