package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"time"

	"hark/engine"
)

// stream=true answers with server-sent events while the audio is still heard: see transcriptEvents. Until there is a
// first event an error is an ordinary answer with its status; later it is an event, an object with "error", and the
// stream ends without "[DONE]". While nothing is to be told, a comment goes out every keepAliveEvery.
//
// Each event has an id. A client that sends "X-Hark-Resume: true" may lose the link and come back: the work goes on
// without it, and GET /v1/streams/{x-request-id} with Last-Event-ID continues behind that event, until keptStreamTime
// after the end. Without that header a hang-up ends the work.
//
// A client that reads slowly holds up nobody: events wait for it, up to
// maxStreamBytes, and one write for Config.WriteTimeout.

const (
	// maxStreamBytes is how much of a stream waits for its reader, or is kept for another one: six hours of speech with
	// the log-probabilities of all tokens.
	maxStreamBytes = 16 << 20
	// doneMark is the last event of a stream that came to its end.
	doneMark = "[DONE]"
	// halfClosedEvery is how often something is sent to a client that has closed at least its
	// half of the link, to see whether it's gone.
	halfClosedEvery = 250 * time.Millisecond
)

// wantsResume reports whether a client may come back for its stream.
func wantsResume(r *http.Request) bool {
	ok, err := strconv.ParseBool(r.Header.Get("X-Hark-Resume"))
	return err == nil && ok
}

// stream answers a request with events. It returns an error where there was one before anything was written.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, d dialect, up *upload, v *wishes, in Input) error {
	rec := recordOf(r)
	log := newEventLog(maxStreamBytes)
	resumable := wantsResume(r)
	if resumable {
		if err := s.resumable.begin(rec.id, in.Caller, log); err != nil {
			return err
		}
		defer s.resumable.end(rec.id, in.Caller, log)
	}
	log.describe(warnings(v))
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := &streamWriter{server: s, w: w, log: log, link: rec.link, forgets: !resumable}
	var gone error
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		if gone = out.follow(r.Context(), 0); gone != nil && !resumable {
			cancel()
		}
	}()
	defer func() { <-followed }() // if the work panics too
	t, err := s.hearInto(ctx, log, in, up, v, d, rec.free)
	<-followed
	if gone != nil && !resumable {
		err = gone
	}
	switch {
	case errors.Is(err, errReaderGone):
		return clientGone(err)
	case err != nil && !out.begun:
		return err
	case err != nil:
		rec.err = describe(r.Context(), err)
		s.metrics.countError(rec.err)
		return nil
	}
	rec.transcript = t
	s.metrics.countTranscript(t)
	return nil
}

// hearInto transcribes an input and logs the events of that, and its end, also if it panics.
func (s *Server) hearInto(ctx context.Context, log *eventLog, in Input, up *upload, v *wishes, d dialect,
	free func()) (t *Transcript, err error) {
	defer func() {
		if t == nil && err == nil {
			err = errPanicked
		}
		free() // before the end is told, so that a caller who has it finds the place free
		log.end(err)
	}()
	var events *transcriptEvents
	var broken error
	in.Opened = func(t Transcript) {
		events = newTranscriptEvents(v, t.Duration)
		log.describe(headers(&t, v))
	}
	in.Heard = func(segments []engine.Segment) {
		texts, err := events.heard(segments)
		log.add(texts...)
		broken = errors.Join(broken, err)
	}
	if t, err = s.run(ctx, in); err != nil {
		return nil, up.aboutFile(v.inFields(err, d))
	}
	done, err := events.done(t, d)
	if err = errors.Join(broken, err); err != nil {
		return nil, err
	}
	log.add(done, []byte(doneMark))
	return t, nil
}

var (
	// errPanicked is what readers of a stream learn of a panic, which the log has.
	errPanicked = errors.New("a panic")
	// errReaderGone says that a reader has closed its link, or reads too slowly.
	errReaderGone = errors.New("nobody reads the stream any more")
)

// streamWriter brings the events of a log to one reader.
type streamWriter struct {
	server  *Server
	w       http.ResponseWriter
	log     *eventLog
	link    *linkWatch
	forgets bool // what has been sent is not kept

	begun  bool // something was written
	events *eventStream
}

// follow sends the events behind a number as they come, and returns when all are sent, or with errReaderGone, or
// errEventsGone. A log that failed before anything was written is left to the caller to tell of.
func (o *streamWriter) follow(ctx context.Context, number int) error {
	closed, lost := o.link.closed, false
	alive := time.NewTimer(o.server.keepAliveEvery)
	defer alive.Stop()
	for {
		events, ended, changed, err := o.log.after(number)
		if err != nil {
			return o.fail(ctx, err)
		}
		for _, e := range events {
			number++
			if err := o.send(strconv.Itoa(number), e); err != nil {
				return err
			}
		}
		if len(events) > 0 {
			if o.forgets {
				o.log.forget(number)
			}
			alive.Reset(o.every(lost))
			continue
		}
		if ended {
			_, failure := o.log.state()
			return o.fail(ctx, failure)
		}
		select {
		case <-changed:
		case <-closed:
			closed, lost = nil, true
			alive.Reset(o.every(lost))
		case <-alive.C:
			if err := o.keepAlive(lost); err != nil {
				return err
			}
			alive.Reset(o.every(lost))
		}
	}
}

// every is how often something is sent at least. A client that has closed its link, or its half of it, is tried
// oftener; before an answer has begun the server does so by itself.
func (o *streamWriter) every(lost bool) time.Duration {
	if lost && o.begun {
		return halfClosedEvery
	}
	return o.server.keepAliveEvery
}

// begin opens the answer.
func (o *streamWriter) begin() {
	if o.begun {
		return
	}
	o.begun = true
	o.link.stop() // which may write by itself
	header, _ := o.log.state()
	maps.Copy(o.w.Header(), header)
	o.events = o.server.openStream(o.w)
}

func (o *streamWriter) send(id string, event []byte) error {
	o.begin()
	if err := o.events.send(id, "", event); err != nil {
		return errors.Join(errReaderGone, err)
	}
	return nil
}

func (o *streamWriter) keepAlive(lost bool) error {
	if lost && o.begun && !o.link.mayBeHalf {
		return errReaderGone
	}
	o.begin()
	if err := o.events.keepAlive(); err != nil {
		return errors.Join(errReaderGone, err)
	}
	return nil
}

// fail tells a reader who has been told something already of an error; nil is none.
func (o *streamWriter) fail(ctx context.Context, failure error) error {
	if failure == nil || !o.begun {
		return failure
	}
	text, err := json.Marshal(onWire(describe(ctx, failure), failure))
	if err != nil {
		return err
	}
	return errors.Join(o.send("", text), failure)
}
