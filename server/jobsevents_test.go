package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// sseEvent is an event as a client reads it.
type sseEvent struct {
	id   string
	data map[string]any
}

// readEvents reads a job's events behind one, until the stream ends or there are n with a number.
func (js *jobServer) readEvents(t *testing.T, id, after string, n int) (events []sseEvent) {
	t.Helper()
	r, err := http.NewRequest("GET", js.url+"/v1/jobs/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d %v", a.StatusCode, a.Header)
	}
	var e sseEvent
	for lines := bufio.NewScanner(a.Body); len(events) < n && lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			e.id = line[4:]
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(line[6:]), &e.data); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
		case line == "" && e.id != "":
			events = append(events, e)
			e = sseEvent{}
		}
	}
	return events
}

const allEvents = 1 << 20

func kinds(events []sseEvent) string {
	var all []string
	for _, e := range events {
		all = append(all, fmt.Sprintf("%s %s", e.id, strings.TrimPrefix(strings.TrimPrefix(e.data["type"].(string), "job."), "transcript.text.")))
	}
	return strings.Join(all, ", ")
}

func TestJobEvents(t *testing.T) {
	js := newSlowJobServer(t, t.TempDir(), time.Millisecond, nil)
	j := js.submit(t, speechWAV(100, 1))
	events := js.readEvents(t, j.ID, "", allEvents)
	text := ""
	for _, e := range events {
		if e.data["type"] == "transcript.text.delta" {
			text += e.data["delta"].(string)
		}
	}
	last := events[len(events)-2]
	if last.data["text"] != text || text == "" {
		t.Errorf("deltas make %q, the text is %q", text, last.data["text"])
	}
	n := len(events)
	if got := kinds(events[:3]) + " … " + kinds(events[n-2:]); got != fmt.Sprintf("1 queued, 2 running, 3 delta … %d done, %d done", n-1, n) {
		t.Errorf("got %s", got)
	}
	for after := range n - 1 {
		rest := js.readEvents(t, j.ID, events[after].id, allEvents)
		if got, want := kinds(rest), kinds(events[after+1:]); got != want {
			t.Errorf("after %d: got %s, want %s", after+1, got, want)
		}
	}
	status := func(id string) int {
		r, _ := http.NewRequest("GET", js.url+j.Events, nil)
		r.Header.Set("Last-Event-ID", id)
		return do(t, r).status
	}
	for id, want := range map[string]int{events[n-1].id: 204, fmt.Sprint(n + 1): 400, "-1": 400, "x": 400, "01": 400} {
		if got := status(id); got != want {
			t.Errorf("Last-Event-ID %s: got %d, want %d", id, got, want)
		}
	}
}
