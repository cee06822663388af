package server

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"hark/access"
)

// keyProtocol begins the WebSocket subprotocol in which browsers, which can't set headers there, send a key to OpenAI's
// realtime API (its guide "Realtime API with WebSocket").
const keyProtocol = "openai-insecure-api-key."

// requestKey returns the API key of a request, "" if it has none: of X-Api-Key, of Authorization with Bearer or, as
// Deepgram's clients have it, Token, or of a subprotocol of the WebSocket that it asks for.
func requestKey(r *http.Request) string {
	if key := strings.TrimSpace(r.Header.Get("X-Api-Key")); key != "" {
		return key
	}
	scheme, key, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if key = strings.TrimSpace(key); key != "" &&
		(strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Token")) {
		return key
	}
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for protocol := range strings.SplitSeq(line, ",") {
			if key, ok := strings.CutPrefix(strings.TrimSpace(protocol), keyProtocol); ok && key != "" {
				return key
			}
		}
	}
	return ""
}

// authenticated lets only requests with a key through, where keys are set, and notes whose it is. It reads no body.
func (s *Server) authenticated(next http.Handler) http.Handler {
	if s.cfg.Keys == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := requestKey(r)
		who := s.cfg.Keys.Find(key)
		if who == nil {
			s.refuseKey(w, r, key != "")
			return
		}
		recordOf(r).caller = who
		next.ServeHTTP(w, r)
	})
}

// refuseKey answers 401 (RFC 6750, section 3, says how), to a caller who has sent a key or none.
func (s *Server) refuseKey(w http.ResponseWriter, r *http.Request, sent bool) {
	challenge, message := `Bearer realm="hark"`,
		"this server asks for an API key: send it in the header Authorization, as Bearer and the key"
	if sent {
		challenge += `, error="invalid_token"`
		message = "this server does not know the API key that came with the request: check that it is whole, and whether it was replaced"
	}
	w.Header().Set("WWW-Authenticate", challenge)
	s.failUnread(w, r, &apiError{status: http.StatusUnauthorized, code: "invalid_api_key", message: message})
}

// unless returns a middleware that is not applied where the condition holds.
func unless(open bool, m func(http.Handler) http.Handler) func(http.Handler) http.Handler {
	if open {
		return func(next http.Handler) http.Handler { return next }
	}
	return m
}

// limited holds callers to their limits, before the body is read.
func (s *Server) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := recordOf(r)
		if rec.caller == nil {
			next.ServeHTTP(w, r)
			return
		}
		now := time.Now()
		err := rec.caller.Enter(now)
		setLimitHeaders(w.Header(), rec.caller.Standings(now))
		if err != nil {
			s.failUnread(w, r, err)
			return
		}
		rec.entered = true
		defer rec.leave()
		next.ServeHTTP(w, r)
	})
}

// leave ends the request for its caller's limits. It comes before the answer, so that who has it may send the next one.
func (rec *record) leave() {
	if rec.entered {
		rec.entered = false
		rec.caller.Leave()
	}
}

// weight is how much of the device a caller gets, as [caller] names him.
func (s *Server) weight(name string) float64 {
	if who := s.keyed(name); who != nil {
		return who.Weight()
	}
	return 1
}

// keyed returns whose key a caller, as [caller] names him, has; nil: none.
func (s *Server) keyed(name string) *access.Caller {
	name, ok := strings.CutPrefix(name, keyCaller)
	if !ok || s.cfg.Keys == nil {
		return nil
	}
	return s.cfg.Keys.Caller(name)
}

// charge takes audio that was decoded for a caller, as [caller] names him, off what he may have.
func (s *Server) charge(name string, audio time.Duration) {
	if who := s.keyed(name); who != nil {
		who.Charge(audio, time.Now())
	}
}

// rateHeaders are the names of a kind's headers behind x-ratelimit-limit-, -remaining- and -reset-: OpenAI's for
// requests; Groq's API has the ones for audio.
var rateHeaders = map[access.Kind]string{access.Requests: "requests", access.Audio: "audio-seconds"}

// setLimitHeaders tells what a caller may still send, as it is when his request is let in.
func setLimitHeaders(h http.Header, left map[access.Kind]access.Standing) {
	for kind, s := range left {
		name := rateHeaders[kind]
		h.Set("X-Ratelimit-Limit-"+name, strconv.Itoa(s.Limit))
		h.Set("X-Ratelimit-Remaining-"+name, strconv.Itoa(s.Remaining))
		h.Set("X-Ratelimit-Reset-"+name, s.Reset.Round(time.Millisecond).String())
	}
}

// overLimit is for a request beyond its caller's limits. A place that comes within the time
// that all clients obey is worth waiting for.
func overLimit(limit *access.LimitError) *apiError {
	e := &apiError{status: http.StatusTooManyRequests, code: "rate_limit_exceeded", retry: retrySoon,
		wait: limit.Wait, cause: limit}
	again := "try again when one of them has ended"
	if limit.Kind != access.Concurrent {
		again = fmt.Sprintf("try again in %v", upToSeconds(limit.Wait))
	}
	if limit.Wait > maxRetrySeconds*time.Second {
		e.retry = retryNever
	}
	e.message = fmt.Sprintf("your key is at its limit of %s: %s", limit.Limit, again)
	return e
}

// upToSeconds rounds up to whole seconds.
func upToSeconds(d time.Duration) time.Duration {
	return time.Duration(math.Ceil(d.Seconds())) * time.Second
}
