package server

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hark/engine"
)

// adapter answers one call of another server's API. What lies between its fields and
// its answer is the same for all calls.
type adapter interface {
	// translate replaces the fields of the upload by hark's, of which query are more. What it leaves out it says to w.
	translate(up *upload, query url.Values, w *warner) error
	// adjust changes what no field can say, knowing the file, and the model as far as anything is known of it yet.
	adjust(ctx context.Context, v *wishes, up *upload, model engine.ModelInfo) error
	// render makes the answer's body.
	render(r *http.Request, t *Transcript, v *wishes) (contentType string, text []byte, err error)
}

// warner gathers what was ignored.
type warner struct{ warnings []string }

// ignored says which fields, of those there are, nothing was done with.
func (w *warner) ignored(there fields, names ...string) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return len(there[name]) == 0 })
	if len(names) > 0 {
		w.warnings = append(w.warnings, "these fields change nothing here: "+strings.Join(names, " "))
	}
}

// adapted handles a call of another server's API.
func (s *Server) adapted(newAdapter func() adapter) http.HandlerFunc {
	return s.admitted(func(_ http.ResponseWriter, r *http.Request) (*reply, error) { return s.adapt(r, newAdapter()) })
}

// adapt takes one request from its body to its answer.
func (s *Server) adapt(r *http.Request, a adapter) (*reply, error) {
	begin := time.Now()
	rec := recordOf(r)
	query := r.URL.Query()
	r = withoutQuery(r) // which holds the other server's fields
	up, err := s.receive(r, dialect{})
	if err != nil {
		return nil, err
	}
	defer up.Close()
	if up.fields == nil {
		up.fields = fields{}
	}
	var w warner
	if err := a.translate(up, query, &w); err != nil {
		return nil, err
	}
	wishes, model, err := s.understand(up, r, dialect{})
	if err != nil {
		return nil, err
	}
	info, _ := s.models.Known(model)
	if err := a.adjust(r.Context(), wishes, up, info); err != nil {
		return nil, err
	}
	wishes.warnings = append(w.warnings, wishes.warnings...)
	rec.format, rec.warnings = wishes.format, wishes.warnings
	received := time.Since(begin)

	t, err := s.run(r.Context(), s.input(r, up, wishes, model, begin))
	if err != nil {
		return nil, up.aboutFile(err)
	}
	rec.transcript = t
	s.metrics.countTranscript(t)
	answer, err := present(t, wishes, dialect{})
	if err != nil {
		return nil, err
	}
	if answer.contentType, answer.text, err = a.render(r, t, wishes); err != nil {
		return nil, err
	}
	answer.header.Set("Server-Timing", serverTiming(received, t))
	return answer, nil
}

// withoutQuery is a request whose URL ends at its path.
func withoutQuery(r *http.Request) *http.Request {
	bare, u := *r, *r.URL
	u.RawQuery = ""
	bare.URL = &u
	return &bare
}

// errorForm is how an API writes its errors; nil: as OpenAI does.
type errorForm func(e *apiError, id string) any

// withErrors has a route write its errors in a form of its own, those too that end a request before its handler.
func withErrors(form errorForm) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			recordOf(r).errorForm = form
			next.ServeHTTP(w, r)
		})
	}
}
