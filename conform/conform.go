package conform

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// QuickTime is how long a run without Config.All may take; what it does not reach is not run.
const QuickTime = 3 * time.Minute

// Config says which server to examine, and how thoroughly.
type Config struct {
	// URL is the server's address, http or https. A path is the API's base; without one that is /v1.
	URL string
	// Model is the model to ask for; "" takes the first that the server lists, else whisper-1.
	Model string
	// Key is sent as the bearer token; "" sends none, and leaves out what only a server with keys can get wrong.
	Key string
	// Fields are sent with each transcription besides, as NAME=VALUE.
	Fields []string
	// Speech is the repository's sample recording, a WAV of 16 kHz, mono, 16 bits. The word times and
	// the files of this package are of no other.
	Speech []byte
	// Audio is a folder with speech in other languages, named by their codes: de.wav and,
	// with its text, de.txt. "" has none.
	Audio string
	// All runs every case; else those that take minutes are left out.
	All bool
	// Only names the cases and groups to run, such as T12.no-file or T6; empty runs all.
	Only []string
	// Patience is the longest time for one case; 0 is 1 minute, or 15 with All.
	Patience time.Duration

	// dial opens links; nil is net.Dialer's. Tests have a network of their own.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// ErrNoServer is wrapped by the error for an address where no HTTP server answers.
var ErrNoServer = errors.New("no server answers")

// ErrConfig is wrapped by the error for a Config that can't be used.
var ErrConfig = errors.New("can't be used")

// Cases are all cases, in the order in which they run.
func Cases() []Case { return slices.Clone(table) }

// Run examines a server and reports each case as it ends. It returns an error where it
// could not begin, or when ctx ends.
func Run(ctx context.Context, cfg Config, report func(Case, Result)) (Summary, error) {
	cases, err := chosen(cfg.Only)
	if err != nil {
		return Summary{}, err
	}
	s, err := newSession(cfg)
	if err != nil {
		return Summary{}, err
	}
	defer s.client.CloseIdleConnections()
	if err := s.meet(ctx); err != nil {
		return Summary{}, err
	}
	var sum Summary
	end := time.Now().Add(QuickTime)
	for _, c := range cases {
		var r Result
		switch left := time.Until(end); {
		case cfg.All:
			r = s.try(ctx, c)
		case c.all:
			r = Result{Case: c.Name, Want: c.Want, Got: "left out of the quick run"}
		case left <= 0:
			r = Result{Case: c.Name, Want: c.Want, Got: "the time of the quick run was over"}
		default:
			r = s.tryWithin(ctx, c, left)
		}
		if ctx.Err() != nil {
			return sum, ctx.Err()
		}
		sum.add(r)
		report(c, r)
	}
	return sum, nil
}

// tryWithin is try in what is left of the quick run. A case that this cuts short has not been tried.
func (s *session) tryWithin(ctx context.Context, c Case, left time.Duration) Result {
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	r := s.try(ctx, c)
	if ctx.Err() != nil && r.OK != nil && !*r.OK {
		r.OK, r.Got = nil, "the time of the quick run was over"
	}
	return r
}

// chosen are the cases that bear one of the names, or are of a group that does.
func chosen(names []string) ([]Case, error) {
	if len(names) == 0 {
		return table, nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(table, func(c Case) bool { return c.isOf(name) }) {
			return nil, fmt.Errorf("case %q %w: there is none of that name", name, ErrConfig)
		}
	}
	var cases []Case
	for _, c := range table {
		if slices.ContainsFunc(names, c.isOf) {
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// baseURL is the base of the API.
func baseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("address %q %w: want one such as http://127.0.0.1:8080", address, ErrConfig)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if u.Path == "" {
		u.Path = "/v1"
	}
	return u, nil
}

// meet finds out whether a server is there, and which model to ask it for.
func (s *session) meet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	a, err := s.get(ctx, s.base.JoinPath("models"), nil)
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause
		}
		return fmt.Errorf("%w at %s: %w", ErrNoServer, s.cfg.URL, err)
	}
	if s.cfg.Model != "" {
		return nil
	}
	s.cfg.Model = "whisper-1"
	var list struct{ Data []struct{ ID string } }
	if a.status == http.StatusOK && a.decode(&list) == nil && len(list.Data) > 0 {
		s.cfg.Model = list.Data[0].ID
	}
	return nil
}
