package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// preflight is T19: what a browser asks before a page may send a file. Either all that
// it needs is allowed or nothing is.
func preflight(ctx context.Context, s *session) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodOptions, s.base.JoinPath(transcriptions).String(), nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Origin", "https://page.example")
	r.Header.Set("Access-Control-Request-Method", http.MethodPost)
	r.Header.Set("Access-Control-Request-Headers", "authorization, content-type")
	a, err := s.do(r)
	if err != nil {
		return "", err
	}
	origin, headers := a.header.Get("Access-Control-Allow-Origin"),
		strings.ToLower(a.header.Get("Access-Control-Allow-Headers"))
	got := fmt.Sprintf("%d, origin %q, headers %q", a.status, origin, headers)
	switch {
	case a.status >= 500:
		return "", errors.New(got)
	case origin == "": // not configured, and honest about it
		return got, nil
	case a.status >= 300, origin != "*" && origin != "https://page.example",
		!strings.Contains(headers, "authorization") || !strings.Contains(headers, "content-type"),
		origin == "*" && a.header.Get("Access-Control-Allow-Credentials") == "true":
		return "", errors.New(got)
	}
	return got, nil
}

// probes is T21: what watches a server has no key.
func probes(ctx context.Context, s *session) (string, error) {
	for _, names := range [][]string{{"/healthz", "/health", "/livez"},
		{"/readyz", "/ready", "/health"}, {"/metrics"}} {
		var tried []string
		open := false
		for _, name := range names {
			a, err := s.get(ctx, s.root(name), http.Header{})
			if err != nil {
				return "", err
			}
			tried = append(tried, fmt.Sprintf("%s %d", name, a.status))
			if open = a.status == http.StatusOK; open {
				break
			}
		}
		if !open {
			return "", errors.New(strings.Join(tried, ", "))
		}
	}
	return "alive, ready and metrics without a key", nil
}

// keyed is T21: a server with keys asks for one on all of its API.
func keyed(ctx context.Context, s *session) (string, error) {
	if s.cfg.Key == "" {
		return "", skip("needs a server with keys, and one of them by --key")
	}
	a, err := s.get(ctx, s.base.JoinPath("models"), http.Header{})
	if err != nil {
		return "", err
	}
	if got, err := refused(a, "", http.StatusUnauthorized); err != nil {
		return got, err
	}
	r, err := s.newPost(ctx, transcriptions, s.form(s.clip()))
	if err != nil {
		return "", err
	}
	r.Header.Del("Authorization")
	if a, err = s.do(r); err != nil {
		return "", err
	}
	return refused(a, "", http.StatusUnauthorized)
}

// resident is the server's memory by its own metrics, in bytes.
func (s *session) resident(ctx context.Context) (float64, error) {
	a, err := s.get(ctx, s.root("/metrics"), nil)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(a.body) {
		if value, ok := bytes.CutPrefix(line, []byte("process_resident_memory_bytes ")); ok {
			return strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		}
	}
	return 0, skip("/metrics has no process_resident_memory_bytes: how much memory the server takes can't be seen from here")
}

// steadyMemory is T22: after hundreds of requests of all kinds, memory grows no more.
func steadyMemory(ctx context.Context, s *session) (string, error) {
	const rounds, perRound = 5, 100
	var taken []float64
	for range rounds {
		highest := 0.0
		for i := range perRound {
			if err := s.mixedRequest(ctx, i); err != nil {
				return "", err
			}
			if i%10 == 9 {
				now, err := s.resident(ctx)
				if err != nil {
					return "", err
				}
				highest = max(highest, now)
			}
		}
		taken = append(taken, highest)
	}
	grown := taken[rounds-1] - taken[rounds-2]
	got := fmt.Sprintf("%.0f MiB after %d requests, %.1f %% more than %d before", taken[rounds-1]/(1<<20),
		rounds*perRound, 100*grown/taken[rounds-2], perRound)
	if grown > math.Max(0.01*taken[rounds-2], 8<<20) { // a few pages come and go
		return "", errors.New(got)
	}
	return got, nil
}

// mixedRequest sends one of several kinds of request, good and bad.
func (s *session) mixedRequest(ctx context.Context, i int) error {
	f := s.form(s.loop(1 + float64(i%5)))
	want := http.StatusOK
	switch i % 5 {
	case 1:
		f = s.form(s.clip(), append([]string{"response_format=verbose_json"}, wordTimes...)...)
	case 2:
		f, want = noFile(s), http.StatusBadRequest
	case 3:
		f = s.form(file("clip.mp3", "audio/mpeg", asset("clip.mp3")))
	}
	a, err := s.post(ctx, f)
	if err == nil && a.status != want && (want == http.StatusOK || a.status < 400 || a.status >= 500) {
		err = fmt.Errorf("%s", a)
	}
	return err
}
