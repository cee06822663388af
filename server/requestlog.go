package server

import (
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/rs/zerolog"

	"hark/batcher"
)

// unmatched is the route of paths that have none.
const unmatched = "none"

// finish writes the one line that a request gets, and counts it.
func (s *Server) finish(r *http.Request, rec *record, ww middleware.WrapResponseWriter, took time.Duration) {
	status := ww.Status()
	if rec.err != nil && rec.err.status == statusClientGone {
		status = statusClientGone
	}
	if status == 0 {
		status = http.StatusOK
	}
	route := chi.RouteContext(r.Context()).RoutePattern()
	if route == "" || status == http.StatusNotFound && route == "/*" {
		route = unmatched
	}
	s.metrics.countRequest(route, r.Method, status, took)
	if rec.bodyLeft != nil {
		s.metrics.uploadBytes.Add(float64(rec.bodyLeft.n))
	}

	line := s.log.Info()
	switch {
	case status >= 500 && status != http.StatusServiceUnavailable:
		line = s.log.Error()
	case rec.transcript == nil && rec.live == nil && rec.err == nil && rec.job == "": // probes, lists
		line = s.log.Debug()
	}
	line = line.Str("id", rec.id).Str("method", r.Method).Str("route", route).Int("status", status).
		Float64("took_ms", inMillis(took)).Int("bytes_out", ww.BytesWritten())
	rec.log(line, r).Msg("request")
}

// log adds to a line what is known of a request, as far as there is any.
func (rec *record) log(line *zerolog.Event, r *http.Request) *zerolog.Event {
	if rec.bodyLeft != nil {
		line = line.Int64("bytes_in", rec.bodyLeft.n).Str("caller", caller(r))
	}
	if count := r.Header.Get("x-stainless-retry-count"); count != "" && count != "0" {
		line = line.Str("retry_count", shown(count))
	}
	if t := rec.transcript; t != nil {
		line = t.log(line).Str("format", string(rec.format)).Int("turns_waited", t.TurnsWaited)
		if len(t.Audio.Faults) > 0 {
			line = line.Strs("faults", t.Audio.Faults)
		}
	}
	if rec.job != "" {
		line = line.Str("job", rec.job)
	}
	if rec.live != nil {
		line = rec.live.log(line.Str("caller", caller(r)))
	}
	if e := rec.err; e != nil {
		line = line.Str("code", e.code).Str("param", e.param).AnErr("error", e)
		line = withStack(line, e)
	}
	if len(rec.warnings) > 0 {
		line = line.Strs("warnings", rec.warnings)
	}
	return line
}

// log adds to a line what a transcript took, and of what.
func (t *Transcript) log(line *zerolog.Event) *zerolog.Event {
	return line.Str("model", t.Model.Name).Str("device", t.Model.Device).Stringer("lane", t.Lane).
		Float64("audio_s", t.Duration).Float64("heard_s", t.Heard).
		Str("container", t.Audio.Container).Str("codec", t.Audio.Codec).
		Float64("decode_ms", inMillis(t.Decode)).Float64("queue_ms", inMillis(t.Queue)).
		Float64("compute_ms", inMillis(t.Compute)).
		Int("tokens", countTokens(t))
}

func countTokens(t *Transcript) int {
	n := 0
	for i := range t.Result.Segments {
		n += len(t.Result.Segments[i].Tokens)
	}
	return n
}

// withStack adds the stack of a panic that a batch recovered from.
func withStack(line *zerolog.Event, err error) *zerolog.Event {
	var p *batcher.PanicError
	if errors.As(err, &p) {
		return line.Bytes("stack", p.Stack)
	}
	return line
}
