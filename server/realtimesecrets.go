package server

import (
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"hark/access"
)

// Client secrets let a browser or an app open a live session without the key: whoever has the key asks for
// one, with the session's settings, and hands it on. As in OpenAI's API ("Realtime client secrets"), they
// are good for a while, and for nothing else.

// Bounds of how long a client secret is good, in seconds, and what it is where nothing is said.
const minSecretSeconds, maxSecretSeconds, defaultSecretTime = 10, 7200, 10 * time.Minute

// maxSecretBytes is the longest request for one.
const maxSecretBytes = 64 << 10

// clientSecret is POST /v1/realtime/client_secrets.
func (s *Server) clientSecret(w http.ResponseWriter, r *http.Request) {
	rec := recordOf(r)
	rec.bodyLeft = s.newBody(w, r)
	text, err := io.ReadAll(io.LimitReader(rec.bodyLeft, maxSecretBytes+1))
	switch {
	case err != nil:
		s.fail(w, r, uploadError(err))
		return
	case len(text) > maxSecretBytes:
		s.fail(w, r, &apiError{status: http.StatusRequestEntityTooLarge, code: "body_too_large", retry: retryNever,
			message: "the request has more than 64 KiB: send the settings of a session, and nothing else"})
		return
	}
	answer, err := s.newSecret(text, rec.caller, time.Now())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	s.writeJSON(w, r, http.StatusOK, answer)
}

// wireSecret is the answer.
type wireSecret struct {
	Value     string       `json:"value"`
	ExpiresAt int64        `json:"expires_at"` // in Unix seconds
	Session   *wireSession `json:"session"`
	Hark      *wireNotes   `json:"hark,omitempty"`
}

// wireNotes is what was ignored.
type wireNotes struct {
	Warnings []string `json:"warnings"`
}

// newSecret makes a client secret as a request says, for its caller; nil: the server has no keys.
func (s *Server) newSecret(text []byte, caller *access.Caller, now time.Time) (*wireSecret, error) {
	if len(strings.TrimSpace(string(text))) == 0 {
		text = []byte("{}")
	}
	o, err := newObject("", text)
	if err != nil {
		return nil, &apiError{status: http.StatusBadRequest, code: "malformed_body",
			message: "the body is not a JSON object"}
	}
	lasts, err := secretTime(o)
	if err != nil {
		return nil, err
	}
	settings := newLiveSettings()
	settings.transcription.model = s.cfg.Models[0]
	var warnings []string
	if raw, null, ok := o.take("session"); ok && !null {
		if warnings, err = settings.update(raw); err != nil {
			return nil, err
		}
	}
	var p liveParser
	p.rest(o)
	if _, err := s.liveSession(settings); err != nil {
		return nil, err
	}
	secret := access.Secret[*liveSettings]{Expires: now.Add(lasts), For: settings}
	if caller != nil {
		secret.Caller = caller.Name()
	}
	value, err := s.secrets.New(secret, now)
	if errors.Is(err, access.ErrTooManySecrets) {
		return nil, &apiError{status: http.StatusTooManyRequests, code: "too_many_secrets",
			retry: retryNever, cause: err,
			message: "as many client secrets are good as this server keeps: use those, or wait until some have expired"}
	}
	if err != nil {
		return nil, err
	}
	out := &wireSecret{Value: value, ExpiresAt: secret.Expires.Unix(),
		Session: settings.wire("sess_"+strings.ToLower(rand.Text()), secret.Expires, false)}
	if warnings = append(warnings, p.warnings...); len(warnings) > 0 {
		out.Hark = &wireNotes{warnings}
	}
	return out, nil
}

// secretTime reads how long a secret is to be good.
func secretTime(o object) (time.Duration, error) {
	after, _, ok, err := o.object("expires_after")
	if err != nil || !ok {
		return defaultSecretTime, err
	}
	anchor, seconds := "", defaultSecretTime.Seconds()
	if err := after.into("anchor", &anchor, "a string"); err != nil {
		return 0, err
	}
	if anchor != "" && anchor != "created_at" {
		return 0, badField("expires_after.anchor", "invalid_value",
			"expires_after.anchor is %s, want created_at", quoted(anchor))
	}
	if err := after.number("seconds", &seconds, minSecretSeconds, maxSecretSeconds); err != nil {
		return 0, err
	}
	return time.Duration(seconds) * time.Second, nil
}

// secretOf is the client secret that a request for a live session comes with, while it's good, else nil.
func (s *Server) secretOf(r *http.Request) *access.Secret[*liveSettings] {
	key := requestKey(r)
	if !strings.HasPrefix(key, access.SecretPrefix) {
		return nil
	}
	return s.secrets.Find(key, time.Now())
}

// withSecret lets a request with a client secret through, as its caller's, and any other to the keys. A secret
// is good as long as its caller has a key.
func (s *Server) withSecret(next http.Handler) http.Handler {
	keyed := s.authenticated(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret := s.secretOf(r)
		if secret == nil || s.cfg.Keys == nil {
			keyed.ServeHTTP(w, r)
			return
		}
		who := s.cfg.Keys.Caller(secret.Caller)
		if who == nil {
			s.refuseKey(w, r, true)
			return
		}
		recordOf(r).caller = who
		next.ServeHTTP(w, r)
	})
}
