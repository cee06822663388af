package server

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

// keepAliveEvery is how long a stream of events stands still before a comment goes out. Proxies cut links that are idle
// for as little as 30 s, so a comment comes at least each 15 s, whatever else holds it up.
const keepAliveEvery = 10 * time.Second

// eventStream writes server-sent events (HTML Living Standard, section 9.2): an answer without an end that is known,
// each event of it sent at once. It's for one goroutine. A client that doesn't read for Config.WriteTimeout ends it.
type eventStream struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
}

// openStream begins an answer of events.
func (s *Server) openStream(w http.ResponseWriter) *eventStream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	return &eventStream{w, http.NewResponseController(w), s.cfg.WriteTimeout}
}

// send writes an event. id is what a client that comes back says it has seen; "" leaves it as it was. name is the
// event's type for browsers; "" is theirs. data may have several lines.
func (e *eventStream) send(id, name string, data []byte) error {
	var b bytes.Buffer
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	if name != "" {
		fmt.Fprintf(&b, "event: %s\n", name)
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		fmt.Fprintf(&b, "data: %s\n", line)
	}
	b.WriteByte('\n')
	return e.write(b.Bytes())
}

// keepAlive writes a comment, which all clients pass over.
func (e *eventStream) keepAlive() error { return e.write([]byte(": keep-alive\n\n")) }

func (e *eventStream) write(text []byte) error {
	e.rc.SetWriteDeadline(time.Now().Add(e.timeout)) // recorders in tests can't, and needn't
	if _, err := e.w.Write(text); err != nil {
		return err
	}
	return e.rc.Flush()
}
