package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	stdlog "log"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/rs/zerolog"

	"hark/access"
)

// record gathers what the log line at a request's end says. Its handler fills it in, on one goroutine.
type record struct {
	id         string
	caller     *access.Caller // whose key it came with, or nil
	entered    bool           // counts for the caller's limits
	errorForm  errorForm      // how the route writes errors; nil: as OpenAI does
	bodyLeft   *body          // nil where the body doesn't matter
	err        *apiError      // nil if all went well
	transcript *Transcript    // nil if there is none
	link       *linkWatch     // nil where a hang-up doesn't matter
	free       func()         // lets the next request in, before the answer; nil where there is no place
	format     Format
	job        string // that the request has made, or made before
	warnings   []string
	live       *liveTally // of a live session
}

type recordKey struct{}

// recordOf returns the record of a request that came through the server's middleware.
func recordOf(r *http.Request) *record { return r.Context().Value(recordKey{}).(*record) }

// observe gives every request an id and a record, catches panics, and logs and counts the request
// when it ends. The link of a client that is gone is aborted last: a handler that returns without an
// answer would have net/http send an empty 200.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		rec := &record{id: requestID(r)}
		r = r.WithContext(context.WithValue(r.Context(), recordKey{}, rec))
		w.Header().Set("x-request-id", rec.id)
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		s.metrics.inFlight.Inc()
		defer func() {
			v := recover()
			if v != nil && v != http.ErrAbortHandler {
				s.metrics.panics.Inc()
				s.log.Error().Str("id", rec.id).Interface("panic", v).Bytes("stack", debug.Stack()).
					Msg("handler panicked")
				if ww.Status() == 0 {
					s.fail(ww, r, &apiError{status: http.StatusInternalServerError, code: "internal_error",
						message: "something went wrong in the server: its log has the reason under this answer's x-request-id"})
				}
			}
			s.metrics.inFlight.Dec()
			s.finish(r, rec, ww, time.Since(begin))
			if v == http.ErrAbortHandler || rec.err != nil && rec.err.status == statusClientGone {
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(ww, r)
	})
}

// requestID is the client's own id if it can be shown as it is, else a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	ok := id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.:", c)
	})
	if ok {
		return id
	}
	return "req_" + strings.ToLower(rand.Text())
}

// keyCaller begins the names of callers with keys.
const keyCaller = "key:"

// caller tells callers apart without keeping their secrets: by the name of the key that was sent; a hash of it,
// where no keys are set; else by the address.
func caller(r *http.Request) string {
	if who := recordOf(r).caller; who != nil {
		return keyCaller + who.Name()
	}
	if key := requestKey(r); key != "" {
		sum := sha256.Sum256([]byte(key))
		return keyCaller + hex.EncodeToString(sum[:6])
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// quietLog is the standard library's log for http.Server, which tells of broken links: nothing to act on.
func quietLog(log zerolog.Logger) *stdlog.Logger {
	return stdlog.New(debugWriter{log}, "", 0)
}

type debugWriter struct{ log zerolog.Logger }

func (w debugWriter) Write(p []byte) (int, error) {
	w.log.Debug().Msg(strings.TrimSpace(string(p)))
	return len(p), nil
}

// boundWriting gives the client its time to read the answer that is written next.
func (s *Server) boundWriting(w http.ResponseWriter) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout)) // a test's recorder can't
}
