package server

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"hark/engine"
)

// routes joins paths to handlers.
func (s *Server) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.observe, s.cors, middleware.StripSlashes, middleware.GetHead)
	r.NotFound(s.notFound)
	r.MethodNotAllowed(s.methodNotAllowed(r))

	r.Group(func(r chi.Router) { // work: for callers, within their limits
		r.Use(s.authenticated, s.limited)
		r.Post("/v1/transcribe", s.transcription(dialect{}))
		r.Post("/v1/audio/transcriptions", s.transcription(dialect{openAI: true}))
		r.Post("/v1/audio/translations", s.transcription(dialect{openAI: true, task: engine.Translate}))
		r.Post("/v1/explain", s.admitted(s.explain))
		r.Post("/v1/realtime/client_secrets", s.clientSecret)
		r.Post("/v1/jobs", s.admitted(s.postJob))
	})
	r.With(s.withSecret, s.limited).Get("/v1/realtime", s.realtime)
	// Other servers' calls, with their errors.
	r.With(withErrors(otherForms["/inference"]), s.authenticated, s.limited).Post("/inference", s.adapted(newInference))
	r.With(withErrors(otherForms["/v1/listen"]), s.authenticated, s.limited).Post("/v1/listen",
		s.adapted(s.newDeepgram))
	r.Group(func(r chi.Router) { // for callers
		r.Use(s.authenticated)
		r.Get("/v1/models", s.listModels)
		r.Get("/v1/models/*", s.showModel) // a model's name may be a path
		r.Get("/v1/queue", s.queue)
		s.jobRoutes(r)
		r.Get("/v1/streams/{id}", s.resume)
	})
	r.Get("/openapi.json", s.openAPIDocument)
	probes := r.With(unless(!s.cfg.ProtectProbes, s.authenticated))
	probes.Get("/healthz", s.health)
	probes.Get("/readyz", s.ready)
	r.With(unless(!s.cfg.ProtectMetrics, s.authenticated)).
		Method(http.MethodGet, "/metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	return r
}

// otherForms are how other servers' calls write their errors.
var otherForms = map[string]errorForm{"/inference": inferenceError, "/v1/listen": deepgramError}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.failUnread(w, r, &apiError{status: http.StatusNotFound, code: "unknown_path",
		message: fmt.Sprintf("there is no %s %s: transcriptions are POST /v1/audio/transcriptions or /v1/transcribe",
			shown(r.Method), quoted(r.URL.Path))})
}

func (s *Server) methodNotAllowed(routes chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimRight(r.URL.Path, "/")
		var allowed []string
		for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
			match := m
			if m == http.MethodHead {
				match = http.MethodGet // which answers HEAD too
			}
			if routes.Match(chi.NewRouteContext(), match, path) {
				allowed = append(allowed, m)
			}
		}
		if len(allowed) == 0 { // the router looks at a method that it doesn't know before it looks at the path
			s.notFound(w, r)
			return
		}
		recordOf(r).errorForm = otherForms[path]
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		s.failUnread(w, r, &apiError{status: http.StatusMethodNotAllowed, code: "method_not_allowed",
			message: fmt.Sprintf("%s is not allowed here: use %s", shown(r.Method), strings.Join(allowed, " or "))})
	}
}

// failUnread refuses a request whose body, if any, was not looked at.
func (s *Server) failUnread(w http.ResponseWriter, r *http.Request, err error) {
	recordOf(r).bodyLeft = s.newBody(w, r)
	s.fail(w, r, err)
}

// writeJSON answers 200, or another status, with v.
func (s *Server) writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) {
	text, err := marshal(v)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.write(w, status, "application/json", text)
}

// write answers with a whole body.
func (s *Server) write(w http.ResponseWriter, status int, contentType string, text []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	s.boundWriting(w)
	w.WriteHeader(status)
	w.Write(text) // a client that is gone doesn't get it; there's nobody to tell
}
