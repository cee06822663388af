package server

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// What browsers are told (Fetch standard, "CORS protocol"). Pages send no cookies here, so none are allowed for.
const (
	corsMethods = "GET, HEAD, POST, DELETE"
	corsMaxAge  = "7200" // two hours, the most that Chromium keeps
	corsHeaders = "authorization, content-type, x-api-key, x-request-id, x-hark-deadline-ms, prefer, last-event-id"
	corsExposed = "x-request-id, x-hark-model, x-hark-device, x-hark-lane, x-hark-warning, x-should-retry, retry-after, server-timing, location, " +
		"www-authenticate, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, " +
		"x-ratelimit-limit-audio-seconds, x-ratelimit-remaining-audio-seconds, x-ratelimit-reset-audio-seconds"
)

// cors lets pages of other origins use the server, those that Config.CORSOrigins names, and answers what browsers ask
// beforehand.
func (s *Server) cors(next http.Handler) http.Handler {
	allowed := allowedOrigins(s.cfg.CORSOrigins, s.cfg.Keys != nil)
	if allowed == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if origin == "" || !allowed(origin) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			preflight(h, r.Header)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		h.Set("Access-Control-Expose-Headers", corsExposed)
		next.ServeHTTP(w, r)
	})
}

// preflight allows what a page asks for, and whatever else the API knows. No header is worth
// keeping from a page that may call at all.
func preflight(h, asked http.Header) {
	headers := corsHeaders
	if more := asked.Get("Access-Control-Request-Headers"); more != "" {
		headers += ", " + headerText(more)
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", headers)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	if asked.Get("Access-Control-Request-Private-Network") == "true" { // from a public page to this machine
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
}

// allowedOrigins tells which pages may call; nil: none. Unless it is set, those of this machine may call a server
// without keys: any other could read what is transcribed there.
func allowedOrigins(origins []string, keys bool) func(origin string) bool {
	switch {
	case slices.Contains(origins, "*"):
		return func(string) bool { return true }
	case len(origins) > 0:
		return func(origin string) bool {
			return slices.ContainsFunc(origins, func(o string) bool { return strings.EqualFold(o, origin) })
		}
	case keys:
		return nil
	}
	return ownOrigin
}

// ownOrigin reports whether a page comes from a server on this machine.
func ownOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
}

// checkOrigin returns why a text is not an origin, or nil.
func checkOrigin(origin string) error {
	u, err := url.Parse(origin)
	if origin == "*" || err == nil && u.Host != "" && u.Scheme != "" && u.Scheme+"://"+u.Host == origin &&
		!strings.Contains(origin, "*") {
		return nil
	}
	return fmt.Errorf("the page's origin %q: want * or a scheme, host and port, such as https://example.org", origin)
}
