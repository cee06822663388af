package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"hark/audioprep"
	"hark/batcher"
	"hark/engine"
	"hark/fetch"
	"hark/jobs"
)

// jobRun is a job that runs.
type jobRun struct {
	office *office
	job    *jobs.Job // as it was before
	begun  *jobs.Job // as it began, for the run's own goroutine
	began  time.Time
	cancel context.CancelCauseFunc

	done, total atomic.Int64 // audio, in ns
	first       atomic.Int64 // of done, what an earlier run had done

	events *transcriptEvents
	told   int   // segments that Heard was told of
	skip   int   // of these, how many were told of in events before
	failed error // why something could not be kept
}

// Attempts that come to nothing, before a job fails with what they failed with: those that end in an error of the
// server's, and those that the process did not survive.
const (
	maxJobTries   = 4
	maxJobCrashes = 200 // so many, since others that run beside the culprit are counted too
)

// do takes a job to its end. An error means that it can't get on now and is to be tried again.
func (run *jobRun) do(ctx context.Context) error {
	store, id := run.office.store, run.job.ID
	j, err := store.Begin(id, jobEvent{Type: eventRunning}.bytes())
	if errors.Is(err, jobs.ErrOver) || errors.Is(err, jobs.ErrNotFound) {
		return nil
	}
	if err == nil {
		run.begun = j
		err = run.transcribe(ctx)
	}
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), errCancelled):
		return nil
	case errors.Is(context.Cause(ctx), errStopping):
		return store.Requeue(id)
	case run.hopeless(err):
		err = run.fail(err)
	}
	if err == nil || errors.Is(err, jobs.ErrOver) || errors.Is(err, jobs.ErrNotFound) {
		return nil
	}
	run.office.server.log.Warn().Str("job", id).Err(err).Msg("a job can't get on just now")
	return errors.Join(err, store.Requeue(id))
}

// errCrashes says that the process ended too often in a job.
var errCrashes = &apiError{status: http.StatusInternalServerError, code: "job_crashes", retry: retryNever,
	message: "the server ended each time that it ran this job: tell whoever runs it to look at its log"}

// transcribe hears a job's audio, from where it was left, and keeps the result.
func (run *jobRun) transcribe(ctx context.Context) error {
	s := run.office.server
	if run.begun.Tries > maxJobCrashes {
		return errCrashes
	}
	request, err := run.office.request(run.job.ID)
	if err != nil {
		return err
	}
	d := request.dialect()
	wishes, err := parseWishes(request.Fields, d)
	if err != nil {
		return err
	}
	in, err := run.input(wishes)
	if err != nil {
		return err
	}
	if wishes.deadline > 0 {
		in.Deadline = run.job.Created.Add(wishes.deadline)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, in.Deadline, batcher.ErrDeadline)
		defer cancel()
	}
	audio, err := run.audio(ctx, request.URL)
	if err != nil {
		return err
	}
	defer audio.Close()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	in.Audio, in.Decoded = audio.reader(ctx), audio.Close
	run.listen(&in, wishes, giveUp)
	t, err := s.transcriber.Transcribe(ctx, in)
	switch {
	case run.failed != nil:
		return run.failed
	case err != nil && errors.Is(context.Cause(ctx), batcher.ErrDeadline):
		return fmt.Errorf("%w: %w", batcher.ErrDeadline, err)
	case err != nil:
		return wishes.inFields(err, d)
	}
	return run.finish(t, d)
}

// input is what the transcriber is told of a job, but for its audio and its deadline.
func (run *jobRun) input(wishes *wishes) (Input, error) {
	s := run.office.server
	model, err := s.resolve(run.job.Model)
	if err != nil {
		return Input{}, err
	}
	in := Input{Model: model, Choice: wishes.choice, Options: wishes.options, Caller: run.job.Caller,
		Charged: run.begun.Measured}
	if info, ok := s.models.Known(model); ok && !info.Prompts {
		in.Options.Prompt = ""
	}
	in.Resume, err = run.pieces()
	return in, err
}

// listen has the transcriber tell how it comes on, and keeps what it hears.
func (run *jobRun) listen(in *Input, wishes *wishes, giveUp context.CancelCauseFunc) {
	in.Progress = func(done, total time.Duration) {
		if run.total.Swap(int64(total)) == 0 {
			run.first.Store(int64(done))
		}
		run.done.Store(int64(done))
	}
	in.Kept = func(p Piece) { run.keep(run.keepPiece(p), giveUp) }
	in.Opened = func(t Transcript) {
		run.events = newTranscriptEvents(wishes, t.Duration)
		if !in.Charged {
			run.keep(run.office.store.Measure(run.job.ID, secondsTime(t.Duration)), giveUp)
		}
	}
	in.Heard = func(segments []engine.Segment) { run.keep(run.keepText(segments), giveUp) }
}

// keep gives a run up where something of it could not be kept.
func (run *jobRun) keep(err error, giveUp context.CancelCauseFunc) {
	if err != nil && run.failed == nil {
		run.failed = err
		giveUp(err)
	}
}

// pieces are what was done of the job before. What can't be read runs again.
func (run *jobRun) pieces() ([]Piece, error) {
	kept, err := run.office.store.Pieces(run.job.ID)
	if err != nil {
		return nil, err
	}
	pieces := make([]Piece, 0, len(kept))
	for _, text := range kept {
		var p Piece
		if json.Unmarshal(text, &p) == nil {
			pieces = append(pieces, p)
		}
	}
	run.skip = run.begun.Segments
	return pieces, nil
}

// audio opens the job's audio, getting it first where that has not been done.
func (run *jobRun) audio(ctx context.Context, url string) (*spool, error) {
	store, id := run.office.store, run.job.ID
	file, err := store.Audio(id)
	if errors.Is(err, os.ErrNotExist) && url != "" {
		if err := run.fetch(ctx, url); err != nil {
			return nil, err
		}
		file, err = store.Audio(id)
	}
	if err != nil {
		return nil, err
	}
	return wholeFile(file)
}

// fetch gets the job's audio from its URL.
func (run *jobRun) fetch(ctx context.Context, url string) error {
	s, store := run.office.server, run.office.store
	in, err := store.Receive()
	if err != nil {
		return err
	}
	defer in.Drop()
	begin := time.Now()
	file, err := s.fetcher.Limited(store.MaxBytes()).Fetch(ctx, url, in)
	s.metrics.countFetch(file.Bytes, time.Since(begin), err)
	if err != nil {
		return fetchFailed(err, "url")
	}
	if file.Bytes == 0 {
		return badField("url", "empty_audio", "the file at the URL is empty: send the URL of audio")
	}
	return store.SetAudio(run.job.ID, in)
}

func secondsTime(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// keepPiece keeps what was heard in a window.
func (run *jobRun) keepPiece(p Piece) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return run.office.store.AddPiece(run.job.ID, text, time.Duration(run.done.Load()))
}

// keepText keeps the events of segments that are final. A run that goes on with an earlier one's pieces is told of its
// segments again, and their events are the same.
func (run *jobRun) keepText(segments []engine.Segment) error {
	var fresh [][]byte
	for i := range segments {
		events, err := run.events.heard(segments[i : i+1])
		if err != nil {
			return err
		}
		if run.told++; run.told > run.skip {
			fresh = append(fresh, events...)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return run.office.store.AddText(run.job.ID, run.told, fresh)
}

// finish keeps the result.
func (run *jobRun) finish(t *Transcript, d dialect) error {
	s := run.office.server
	result, err := encodeTranscript(t)
	if err != nil {
		return err
	}
	text, err := run.events.done(t, d)
	if err != nil {
		return err
	}
	events := [][]byte{text, jobEvent{Type: eventDone}.bytes()}
	if err := run.office.store.Finish(run.job.ID, secondsTime(t.Duration), result, events); err != nil {
		return err
	}
	s.metrics.countTranscript(t)
	s.metrics.countJobEnd(jobs.Done)
	t.log(s.log.Info().Str("job", run.job.ID).Str("caller", run.job.Caller)).
		Float64("took_ms", inMillis(time.Since(run.job.Created))).Msg("job done")
	return nil
}

// fail keeps why the job can't be done.
func (run *jobRun) fail(err error) error {
	s, e := run.office.server, explain(err)
	failure := jobs.Failure{Status: e.status, Type: e.kind(), Code: e.code, Param: e.param, Message: e.message}
	if err := run.office.store.Fail(run.job.ID, failure,
		[][]byte{jobEvent{Type: eventFailed, Error: newWireFailure(&failure)}.bytes()}); err != nil {
		return err
	}
	s.metrics.countError(e)
	s.metrics.countJobEnd(jobs.Failed)
	s.log.Warn().Str("job", run.job.ID).Str("caller", run.job.Caller).Int("status", e.status).
		Str("code", e.code).Str("param", e.param).AnErr("error", e).Msg("job failed")
	return nil
}

// hopeless reports whether a job would fail the same way once more: what is wrong lies in
// its request, or in the server for too long.
func (run *jobRun) hopeless(err error) bool {
	var (
		busy    *batcher.BusyError
		storage *audioprep.StorageError
		full    *jobs.FullError
		corrupt *jobs.CorruptError
		late    *fetch.TimeError
	)
	switch {
	case errors.As(err, &busy) && busy.Limit == batcher.LimitDeadline:
		return true
	case errors.As(err, &busy), errors.As(err, &storage), errors.As(err, &full),
		errors.As(err, &corrupt), run.failed != nil,
		errors.Is(err, batcher.ErrQueueFull), errors.Is(err, batcher.ErrClosed),
		errors.Is(err, engine.ErrRegistryClosed), errors.Is(err, batcher.ErrFatal):
		return false
	case errors.Is(err, errCrashes):
		return true
	case errors.Is(err, batcher.ErrDeadline):
		return true
	case errors.As(err, &late):
		return run.office.tries(run.job.ID) >= maxJobTries
	}
	return explain(err).status < 500 || run.office.tries(run.job.ID) >= maxJobTries
}
