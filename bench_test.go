package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync/atomic"
	"testing"
)

// TestBenchInterrupted holds that an interruption loses nothing of what was measured.
func TestBenchInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 4 { // the first does not count
			cancel()
		}
		io.WriteString(w, `{"text":"hello"}`)
	}))
	defer server.Close()
	var out, errs bytes.Buffer
	err := run(ctx, []string{"bench", "--http", server.URL, "--clips", "1", "--recordings", "0", "--duration", "1h"}, nil, &out, &errs)
	if exitCode(err) != 130 {
		t.Errorf("exit code %d of %v, want 130", exitCode(err), err)
	}
	if !regexp.MustCompile(`, interrupted\n[^$]*\n +clips +[23] `).Match(out.Bytes()) {
		t.Errorf("the table is %q", out.String())
	}
	report(&errs, err)
	if got, want := errs.String(), "hark: interrupted\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
