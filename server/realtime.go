package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"hark/live"
)

// Live transcription speaks OpenAI's Realtime API over a WebSocket, as far as it transcribes: sessions of type
// "transcription". What is said below of events and fields is from its reference ("Realtime", client and server events)
// and its guides "Realtime transcription" and "Realtime API with WebSocket".

// The subprotocols of that API. Browsers also offer their key as one, which is not answered.
const (
	realtimeProtocol     = "realtime"
	realtimeBetaProtocol = "openai-beta.realtime-v1"
)

// maxEventBytes is the largest message that is read. OpenAI's API takes 15 MiB of Base64 in one.
const maxEventBytes = 15<<20 + 64<<10

// liveLimits bound each session. Five minutes of sound are more than the largest message holds, and take 19 MB.
var liveLimits = live.Limits{Ahead: 5 * time.Minute, Patience: time.Minute}

// liveSessions counts sessions, and tells them when to stop.
type liveSessions struct {
	mu   sync.Mutex
	n    int
	stop chan struct{} // closed when the server stops
	once sync.Once
}

// realtime handles GET /v1/realtime: it lets a session in and serves it to its end.
func (s *Server) realtime(w http.ResponseWriter, r *http.Request) {
	settings, err := s.checkHandshake(r)
	if err == nil {
		err = s.admitLive()
	}
	if err != nil {
		if !asksForWebSocket(r) && r.ProtoMajor == 1 {
			w.Header().Set("Upgrade", "websocket") // RFC 9110, section 15.5.22
			w.Header().Set("Connection", "Upgrade")
		}
		s.fail(w, r, err)
		return
	}
	defer s.leaveLive()
	beta := wantsBeta(r)
	protocols := []string{realtimeProtocol}
	if beta {
		protocols = append(protocols, realtimeBetaProtocol)
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       protocols,
		InsecureSkipVerify: true, // checkHandshake has looked at the origin
	})
	if err != nil {
		return // it has been answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxEventBytes)
	link := newLiveLink(s, conn, settings, beta, caller(r))
	recordOf(r).live = link.serve()
}

// checkHandshake refuses what can't become a session.
func (s *Server) checkHandshake(r *http.Request) (*liveSettings, error) {
	if !asksForWebSocket(r) {
		return nil, &apiError{status: http.StatusUpgradeRequired, code: "upgrade_required",
			message: "live transcription is a WebSocket: connect to it with ws:// or wss:// instead of http"}
	}
	if !s.originAllowed(r) {
		return nil, &apiError{status: http.StatusForbidden, code: "origin_not_allowed", retry: retryNever,
			message: "pages of " + quoted(r.Header.Get("Origin")) +
				" may not use this server: whoever runs it can allow them"}
	}
	query := r.URL.Query()
	if intent := query.Get("intent"); intent != "" && intent != "transcription" {
		return nil, badField("intent", "invalid_value",
			"intent is %s, want transcription: this server transcribes, and does not converse", quoted(intent))
	}
	settings := newLiveSettings()
	model := query.Get("model")
	if _, err := s.resolve(model); err != nil {
		return nil, err
	}
	if secret := s.secretOf(r); secret != nil {
		settings = secret.For.clone()
		if model == "" || settings.transcription == nil {
			return settings, nil
		}
	}
	settings.transcription.model = model
	if model == "" {
		settings.transcription.model = s.cfg.Models[0]
	}
	return settings, nil
}

func asksForWebSocket(r *http.Request) bool {
	return hasToken(r.Header, "Connection", "upgrade") && hasToken(r.Header, "Upgrade", "websocket")
}

// hasToken reports whether a header that is a list has a member, in any case.
func hasToken(h http.Header, name, token string) bool {
	for _, line := range h.Values(name) {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

// wantsBeta reports whether a client speaks the API as it was before it left beta: other names of events and fields.
func wantsBeta(r *http.Request) bool {
	return hasToken(r.Header, "OpenAI-Beta", "realtime=v1") ||
		hasToken(r.Header, "Sec-WebSocket-Protocol", realtimeBetaProtocol)
}

// originAllowed reports whether the page that a browser names may connect. Browsers don't keep
// WebSockets of other origins apart by themselves.
func (s *Server) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	if u, err := url.Parse(origin); err == nil && strings.EqualFold(u.Host, r.Host) {
		return true
	}
	allowed := allowedOrigins(s.cfg.CORSOrigins, s.cfg.Keys != nil)
	return allowed != nil && allowed(origin)
}

// admitLive takes a place for a session.
func (s *Server) admitLive() error {
	s.busyMu.Lock()
	defer s.busyMu.Unlock()
	if s.stopping.Load() {
		return stopping(nil)
	}
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	if s.live.n >= s.cfg.MaxLive {
		return &apiError{status: http.StatusTooManyRequests, code: "too_many_sessions", retry: retrySoon,
			message: fmt.Sprintf("%d live sessions are open, as many as this server holds: try again after the seconds that Retry-After says", s.live.n)}
	}
	s.live.n++
	s.metrics.liveSessions.Inc()
	s.busy.Add(1)
	return nil
}

func (s *Server) leaveLive() {
	s.live.mu.Lock()
	s.live.n--
	s.live.mu.Unlock()
	s.metrics.liveSessions.Dec()
	s.busy.Done()
}
