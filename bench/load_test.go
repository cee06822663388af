package bench

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serverOf answers what handle says of a file's name.
func serverOf(t *testing.T, handle func(name string, w http.ResponseWriter, gaveUp <-chan struct{})) (url string, seen *atomic.Int32) {
	seen = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, header, err := r.FormFile("file")
		if err != nil || r.FormValue("model") != "m" || r.Header.Get("Authorization") != "Bearer k" {
			http.Error(w, "bad form", http.StatusBadRequest)
			return
		}
		if b, _ := io.ReadAll(f); string(b) != "sound of "+header.Filename {
			http.Error(w, "bad file", http.StatusBadRequest)
			return
		}
		seen.Add(1)
		handle(header.Filename, w, r.Context().Done())
	}))
	t.Cleanup(s.Close)
	return s.URL, seen
}

func fileOf(name string, seconds float64) File {
	return File{Name: name, Data: []byte("sound of " + name), Seconds: seconds}
}

func TestLoadCountsEveryEnd(t *testing.T) {
	var clips atomic.Int32
	url, seen := serverOf(t, func(name string, w http.ResponseWriter, gaveUp <-chan struct{}) {
		if name == "long" {
			<-gaveUp // far beyond any clip's time
			return
		}
		switch clips.Add(1) {
		case 3:
			w.WriteHeader(http.StatusTooManyRequests)
		case 4:
			http.Error(w, "out of order", http.StatusInternalServerError)
		case 5:
			io.WriteString(w, `{"text":" "}`)
		default:
			io.WriteString(w, `{"text":"hello"}`)
		}
	})
	l := Load{
		URL: url, Key: "k", Fields: map[string]string{"model": "m"},
		Clips: []File{fileOf("a", 2), fileOf("b", 2)}, Recordings: []File{fileOf("long", 60)},
		ClipClients: 1, RecordingClients: 1, Duration: 2 * time.Second, Timeout: 2 * time.Second,
	}
	r, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := r.Clips
	if c.Refused != 1 || c.Failed != 2 || c.TimedOut != 0 || c.Served == 0 || !strings.Contains(c.Note, "out of order") {
		t.Errorf("clips: %+v", c)
	}
	if r.Recordings.Served != 0 || r.Recordings.TimedOut == 0 || r.Recordings.P50 != 0 {
		t.Errorf("recordings: %+v", r.Recordings)
	}
	if all := 1 + c.Served + c.Refused + c.Failed + r.Recordings.TimedOut; all != int(seen.Load()) {
		t.Errorf("%d requests are told of, %d were made", all, seen.Load())
	}
	if want := float64(2*c.Served) / 2; c.AudioPerSecond > want || c.AudioPerSecond < want-1 || r.AudioPerSecond != c.AudioPerSecond {
		t.Errorf("%.2f audio-s/s of %d clips of 2 s in 2 s", c.AudioPerSecond, c.Served)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestLoadNeedsAServer(t *testing.T) {
	url, _ := serverOf(t, func(_ string, w http.ResponseWriter, _ <-chan struct{}) {
		http.Error(w, "no such model", http.StatusNotFound)
	})
	l := Load{URL: url, Key: "k", Fields: map[string]string{"model": "m"}, Clips: []File{fileOf("a", 2)}, ClipClients: 1, Duration: time.Second}
	if _, err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no such model") {
		t.Errorf("got %v", err)
	}
	l.RecordingClients = 1
	if _, err := l.Run(t.Context()); err == nil {
		t.Error("clients without a file: no error")
	}
}

// TestLoadNothingServed has a server fall over behind the request that doesn't count:
// there are counts, no times, and an error.
func TestLoadNothingServed(t *testing.T) {
	var requests atomic.Int32
	url, _ := serverOf(t, func(_ string, w http.ResponseWriter, _ <-chan struct{}) {
		if requests.Add(1) > 1 {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		io.WriteString(w, `{"text":"hello"}`)
	})
	l := Load{URL: url, Key: "k", Fields: map[string]string{"model": "m"}, Clips: []File{fileOf("a", 2)}, ClipClients: 1,
		Duration: 100 * time.Millisecond}
	r, err := l.Run(t.Context())
	if !errors.Is(err, ErrNothingServed) || r == nil || r.Clips.Failed == 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "\nfirst failure of clips: answered 500 Internal Server Error: out of order\n") ||
		strings.Contains(table.String(), "0.00") {
		t.Errorf("got\n%s", table.String())
	}
}

func TestLatency(t *testing.T) {
	var took []time.Duration
	for i := range 100 {
		took = append(took, time.Duration(100-i)*time.Second)
	}
	if got, want := latencyOf(took), (Latency{50, 90, 99, 100}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := latencyOf([]time.Duration{time.Second}); got != (Latency{1, 1, 1, 1}) {
		t.Errorf("of one: %v", got)
	}
}

// TestLoadInterrupted ends clients in the middle: what was served until then is told of, what was under way isn't.
func TestLoadInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var clips atomic.Int32
	url, _ := serverOf(t, func(_ string, w http.ResponseWriter, gaveUp <-chan struct{}) {
		if clips.Add(1) == 4 { // the first does not count
			cancel()
			<-gaveUp
			return
		}
		io.WriteString(w, `{"text":"hello"}`)
	})
	l := Load{URL: url, Key: "k", Fields: map[string]string{"model": "m"}, Clips: []File{fileOf("a", 2)}, ClipClients: 1, Duration: time.Hour}
	r, err := l.Run(ctx)
	if !errors.Is(err, context.Canceled) || r == nil {
		t.Fatalf("got %v, %v", r, err)
	}
	if c := r.Clips; c.Served != 2 || c.Failed != 0 || c.TimedOut != 0 || !(c.P50 > 0) {
		t.Errorf("clips: %+v", c)
	}
	if !r.Interrupted || r.Seconds >= 3600 || r.AudioPerSecond != 4/r.Seconds {
		t.Errorf("%+v", r)
	}
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil || !strings.Contains(table.String(), ", interrupted\n") {
		t.Errorf("%v: %s", err, table.String())
	}
}
