package jobs

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The example of the specification (standard-webhooks.md, "Signature scheme").
func TestSign(t *testing.T) {
	keys, err := ParseKeys([]byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"))
	check(t, err)
	got := keys.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestParseKeys(t *testing.T) {
	for text, want := range map[string]int{
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw":                                          1,
		"# old\nwhsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\r\n\n# new\na plain secret text\n": 2,
		"":                     0,
		"# nothing":            0,
		"short":                0,
		"whsec_not base64 !!!": 0,
		"whsec_YWJj":           0,
	} {
		keys, err := ParseKeys([]byte(text))
		if len(keys) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: got %d keys, %v; want %d", text, len(keys), err, want)
		}
	}
}

func TestOwnKeys(t *testing.T) {
	dir := t.TempDir()
	keys, path, err := OwnKeys(dir)
	check(t, err)
	again, _, err := OwnKeys(dir)
	check(t, err)
	text, err := os.ReadFile(path)
	check(t, err)
	encoded, _ := strings.CutPrefix(strings.TrimSpace(string(text)), "whsec_")
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || string(keys[0]) != string(secret) || string(again[0]) != string(secret) || path != filepath.Join(dir, "webhook-secret") {
		t.Errorf("%s holds %q (%v), the keys are %x and %x", path, text, err, keys, again)
	}
}

// receiver notes the messages that it gets and answers with one status after the other, the last one for ever.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	got      []*http.Request
	bodies   []string
	called   chan struct{}
}

func newReceiver(t *testing.T, statuses ...int) *receiver {
	r := &receiver{statuses: statuses, called: make(chan struct{}, 100)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got, r.bodies = append(r.got, req), append(r.bodies, string(body))
		status := r.statuses[0]
		if len(r.statuses) > 1 {
			r.statuses = r.statuses[1:]
		}
		r.mu.Unlock()
		w.WriteHeader(status)
		r.called <- struct{}{}
	}))
	t.Cleanup(r.Close)
	return r
}

// deliver runs a Deliverer until the job's webhook is in a state.
func deliver(t *testing.T, s *Store, id string, until HookState) *Job {
	t.Helper()
	d := &Deliverer{
		Store: s, Client: http.DefaultClient, Keys: Keys{[]byte("0123456789abcdef")},
		Message: func(j *Job) ([]byte, error) { return []byte(`{"id":"` + j.ID + `"}`), nil },
		Pauses:  []time.Duration{time.Millisecond, 2 * time.Millisecond, time.Hour},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.Run(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	for {
		changed := s.Watch(id)
		j, err := s.Get(id)
		check(t, err)
		if j.Hook.State == until {
			return j
		}
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatalf("the webhook stays %+v", j.Hook)
		}
	}
}

func TestDeliver(t *testing.T) {
	r := newReceiver(t, 500, 503, 204)
	s := open(t, Config{Dir: t.TempDir()})
	defer s.Close()
	j := accept(t, s, New{HookURL: r.URL + "/hook?token=1"}, "x")
	check(t, s.Finish(j.ID, time.Minute, []byte("text"), nil))
	j = deliver(t, s, j.ID, HookDelivered)
	if h := j.Hook; h.Attempts != 3 || h.Status != 204 || h.Error != "" || h.Delivered.IsZero() || !h.Next.IsZero() {
		t.Errorf("got %+v", h)
	}
	keys := Keys{[]byte("0123456789abcdef")}
	for i, got := range r.got {
		seconds, err := strconv.ParseInt(got.Header.Get("webhook-timestamp"), 10, 64)
		check(t, err)
		want := keys.Sign(j.Hook.ID, time.Unix(seconds, 0), []byte(r.bodies[i]))
		if got.Header.Get("webhook-id") != j.Hook.ID || got.Header.Get("webhook-signature") != want || r.bodies[i] != `{"id":"`+j.ID+`"}` {
			t.Errorf("attempt %d: %v %s", i+1, got.Header, r.bodies[i])
		}
	}
}

// What is to be delivered is delivered by the next process, at its time.
func TestDeliverAcrossRestart(t *testing.T) {
	r := newReceiver(t, 500)
	now := time.Now()
	cfg := Config{Dir: t.TempDir(), Now: func() time.Time { return now }}
	s := open(t, cfg)
	j := accept(t, s, New{HookURL: r.URL}, "x")
	check(t, s.Fail(j.ID, Failure{Status: 415}, nil))
	d := &Deliverer{Store: s, Client: http.DefaultClient, Message: func(*Job) ([]byte, error) { return nil, nil }, Pauses: []time.Duration{time.Hour, time.Hour}}
	d.attempt(t.Context(), j)
	check(t, s.Close())

	s = open(t, cfg)
	defer s.Close()
	d.Store = s
	if due, next := d.due(newSet()); len(due) != 0 || next < time.Minute {
		t.Errorf("%d are due, the next in %v: want none yet", len(due), next)
	}
	now = now.Add(2 * time.Hour)
	if due, _ := d.due(newSet()); len(due) != 1 || due[0].Hook.Attempts != 1 || due[0].Hook.Status != 500 {
		t.Errorf("got %d due", len(due))
	}
}

func TestDeliverGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		statuses []int
		attempts int
	}{
		"gone":      {[]int{500, 410}, 2},
		"redirects": {[]int{302, 410}, 2},
	} {
		r := newReceiver(t, c.statuses...)
		s := open(t, Config{Dir: t.TempDir()})
		j := accept(t, s, New{HookURL: r.URL}, "x")
		check(t, s.Cancel(j.ID, nil))
		j = deliver(t, s, j.ID, HookFailed)
		if h := j.Hook; h.Attempts != c.attempts || h.Error == "" || h.Status != 410 {
			t.Errorf("%s: got %+v", name, h)
		}
		s.Close()
	}
	s := open(t, Config{Dir: t.TempDir()})
	defer s.Close()
	j := accept(t, s, New{HookURL: "http://h.example"}, "x")
	check(t, s.Cancel(j.ID, nil))
	d := &Deliverer{Store: s, Pauses: []time.Duration{time.Hour}}
	for range 2 {
		if _, err := d.note(j.ID, 0, context.DeadlineExceeded); err != nil {
			t.Fatal(err)
		}
	}
	if j, _ := s.Get(j.ID); j.Hook.State != HookFailed || j.Hook.Attempts != 2 {
		t.Errorf("after the last pause: %+v", j.Hook)
	}
}

// FuzzKeys: what is taken for secrets signs.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n# c\na plain secret text"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := ParseKeys(text)
		if err == nil && len(strings.Fields(keys.Sign("m", time.Time{}, nil))) != len(keys) {
			t.Fatalf("%q makes %d keys, but not as many signatures", text, len(keys))
		}
	})
}
