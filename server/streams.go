package server

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
)

const (
	// keptStreamTime is how long the events of a stream that may be resumed are kept after its end.
	keptStreamTime = 2 * time.Minute
	// maxKeptBytes is how much all streams that have ended may keep; beyond it the one that ended first goes.
	maxKeptBytes = 64 << 20
)

// streams are those that a client may come back for, by their caller and id.
type streams struct {
	mu    sync.Mutex
	logs  map[streamKey]*eventLog
	ended []*streamKey // in order; each is one ending
}

type streamKey struct{ caller, id string }

// begin keeps a stream that begins.
func (s *streams) begin(id, caller string, log *eventLog) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := streamKey{caller, id}
	if old := s.logs[key]; old != nil && !old.over() {
		return &apiError{status: http.StatusConflict, code: "stream_exists", retry: retryNever,
			message: fmt.Sprintf("a stream with this x-request-id is under way: GET /v1/streams/%s continues it", id)}
	}
	if s.logs == nil {
		s.logs = map[streamKey]*eventLog{}
	}
	s.forget(key)
	s.logs[key] = log
	return nil
}

// end keeps a stream that has ended for some more time, unless another has taken its place since its last event.
func (s *streams) end(id, caller string, log *eventLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := &streamKey{caller, id}
	if s.logs[*key] != log {
		return // another one of its id has begun meanwhile
	}
	s.ended = append(s.ended, key)
	for s.endedBytes() > maxKeptBytes {
		s.forget(*s.ended[0])
	}
	time.AfterFunc(keptStreamTime, func() { // which must not hold the log, that may be forgotten before
		s.mu.Lock()
		defer s.mu.Unlock()
		if slices.Contains(s.ended, key) {
			s.forget(*key)
		}
	})
}

// endedBytes is what streams that have ended keep. The lock is held.
func (s *streams) endedBytes() (n int) {
	for _, key := range s.ended {
		n += s.logs[*key].size()
	}
	return n
}

// forget drops a stream. The lock is held.
func (s *streams) forget(key streamKey) {
	delete(s.logs, key)
	s.ended = slices.DeleteFunc(s.ended, func(other *streamKey) bool { return *other == key })
}

func (s *streams) find(id, caller string) *eventLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs[streamKey{caller, id}]
}

// resume answers GET /v1/streams/{id}: the events of a stream behind Last-Event-ID, as they come; 204 where there are
// none and none will be, which tells browsers not to come back.
func (s *Server) resume(w http.ResponseWriter, r *http.Request) {
	log := s.resumable.find(chi.URLParam(r, "id"), caller(r))
	if log == nil {
		s.fail(w, r, &apiError{status: http.StatusNotFound, code: "stream_not_found",
			message: "there is no such stream, or not any more: one can be resumed until some minutes after its end, if it was begun with X-Hark-Resume: true"})
		return
	}
	number, err := parseEventID(r.Header.Get("Last-Event-ID"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if events, ended, _, err := log.after(number); err == nil && ended && len(events) == 0 {
		if _, failure := log.state(); failure == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	link := &linkWatch{stop: func() {}, closed: r.Context().Done(), mayBeHalf: r.ProtoMajor == 1}
	out := &streamWriter{server: s, w: w, log: log, link: link}
	if err := out.follow(r.Context(), number); err != nil && !out.begun {
		s.fail(w, r, err)
	}
}

// parseEventID reads the number of the last event that a client has seen; nothing is none.
func parseEventID(text string) (int, error) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, badField("Last-Event-ID", "invalid_value",
			"Last-Event-ID is %s, want the id of an event of this stream", quoted(text))
	}
	return n, nil
}
