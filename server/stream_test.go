package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
	"weak"

	"hark/engine"
)

// told is a stream read to its end.
type told struct {
	ids      []string
	events   []map[string]any // without [DONE]
	comments int
	ended    bool // [DONE] came
}

// readEvents reads server-sent events until their end, or until so many have come.
func readEvents(t *testing.T, body io.Reader, most int) *told {
	t.Helper()
	var out told
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<24)
	for len(out.events) < most && lines.Scan() {
		line := lines.Text()
		data, isData := strings.CutPrefix(line, "data: ")
		switch id, isID := strings.CutPrefix(line, "id: "); {
		case isID:
			out.ids = append(out.ids, id)
		case strings.HasPrefix(line, ":"):
			out.comments++
		case data == doneMark:
			out.ended = true
		case isData:
			var e map[string]any
			if err := json.Unmarshal([]byte(data), &e); err != nil || !utf8.ValidString(data) {
				t.Fatalf("%v of %q", err, data)
			}
			out.events = append(out.events, e)
		case line != "":
			t.Fatalf("a line %q", line)
		}
	}
	return &out
}

// of are the events of a type.
func (s *told) of(kind string) (events []map[string]any) {
	for _, e := range s.events {
		if e["type"] == "transcript.text."+kind {
			events = append(events, e)
		}
	}
	return events
}

func (s *told) deltas() (text string) {
	for _, e := range s.of("delta") {
		text += e["delta"].(string)
	}
	return text
}

// done is the last event.
func (s *told) done(t *testing.T) map[string]any {
	t.Helper()
	all := s.of("done")
	if len(all) != 1 || s.events[len(s.events)-1]["type"] != "transcript.text.done" || !s.ended {
		t.Fatalf("the stream has no end: %v", s.events)
	}
	return all[0]
}

// streamed asks for a stream and reads it.
func (ts *testServer) streamed(t *testing.T, path string, file []byte, pairs ...string) (*told, *answer) {
	t.Helper()
	a := ts.post(t, path, file, append([]string{"stream", "true"}, pairs...)...)
	if a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v: %s", a.status, a.header, a.body)
	}
	return readEvents(t, strings.NewReader(a.body), 1<<30), a
}

const transcriptionsPath = "/v1/audio/transcriptions"

func TestStreamIsTheTranscript(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.model.set(func(m *fakeModel) { m.shuffles = true })
	recording := speechWAV(100, 1)
	plain := ts.transcribe(t, recording).json(t)
	s, a := ts.streamed(t, transcriptionsPath, recording, "model", "whisper-1")
	done := s.done(t)
	if n := len(s.of("delta")); n != 4 || s.deltas() != done["text"] || done["text"] != plain["text"] {
		t.Errorf("%d deltas: %q\nat the end %q\nin one piece %q", n, s.deltas(), done["text"], plain["text"])
	}
	if inJSON(t, done["usage"]) != `{"seconds":100,"type":"duration"}` || inJSON(t, done["languages"]) != `[{"code":"en"}]` || done["segments"] != nil || done["logprobs"] != nil {
		t.Errorf("done: %v", done)
	}
	for name, want := range map[string]string{"X-Hark-Model": "fake", "X-Hark-Lane": "recordings", "Cache-Control": "no-cache, no-transform"} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := strings.Join(s.ids, " "); got != "1 2 3 4 5 6" {
		t.Errorf("ids %s", got)
	}
	eventually(t, "the log has a line of the transcript", func() bool { return strings.Contains(ts.log.String(), `"audio_s":100`) })
}

func TestStreamShapes(t *testing.T) {
	ts := newTestServer(t, nil)
	clip := speechWAV(2.5, 1)
	for _, c := range []struct {
		name, path string
		fields     []string
		deltas     int
		want       string // of all events, without texts
	}{
		{"translation", "/v1/audio/translations", []string{"model", "whisper-1"}, 1, `[{"type":"transcript.text.done","usage":{"seconds":2.5,"type":"duration"}}]`},
		{"verbose", transcriptionsPath, []string{"model", "whisper-1", "response_format", "verbose_json", "timestamp_granularities[]", "segment", "timestamp_granularities[]", "word"}, 1,
			`[{"end":2.5,"id":"seg_001","start":0,"type":"transcript.text.segment"},{"duration":2.5,"language":"english","languages":[{"code":"en"}],` +
				`"segments":[{"avg_logprob":-0.25,"compression_ratio":1.25,"end":2.5,"id":0,"no_speech_prob":0.01,"seek":0,"start":0,"temperature":0.2,"tokens":[50364,2198]}],` +
				`"type":"transcript.text.done","usage":{"seconds":2.5,"type":"duration"},"words":[{"end":0.3,"start":0},{"end":2.5,"start":0.3}]}]`},
		{"words alone", transcriptionsPath, []string{"model", "whisper-1", "response_format", "verbose_json", "timestamp_granularities[]", "word"}, 1,
			`[{"duration":2.5,"language":"english","languages":[{"code":"en"}],"type":"transcript.text.done","usage":{"seconds":2.5,"type":"duration"},"words":[{"end":0.3,"start":0},{"end":2.5,"start":0.3}]}]`},
		{"diarized", transcriptionsPath, []string{"model", "whisper-1", "response_format", "diarized_json"}, 1,
			`[{"end":2.5,"id":"seg_001","speaker":"A","start":0,"type":"transcript.text.segment"},{"duration":2.5,"languages":[{"code":"en"}],` +
				`"segments":[{"end":2.5,"id":"seg_001","speaker":"A","start":0,"type":"transcript.text.segment"}],"type":"transcript.text.done","usage":{"seconds":2.5,"type":"duration"}}]`},
		{"text", transcriptionsPath, []string{"model", "whisper-1", "response_format", "text"}, 1, `[{"languages":[{"code":"en"}],"type":"transcript.text.done","usage":{"seconds":2.5,"type":"duration"}}]`},
		{"hark's own", "/v1/transcribe?response_format=json", nil, 1, `[{"languages":[{"code":"en"}],"type":"transcript.text.done","usage":{"seconds":2.5,"type":"duration"}}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := ts.streamed(t, c.path, clip, c.fields...)
			if done := s.done(t); s.deltas() != done["text"] || len(s.of("delta")) != c.deltas {
				t.Errorf("%v", s.events)
			}
			if got := inJSON(t, withoutTexts(s.events[c.deltas:])); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	// Of two speakers.
	s, _ := ts.streamed(t, transcriptionsPath, dialogue(), "model", "whisper-1", "response_format", "diarized_json", "channels", "separate")
	speakers := ""
	for i, e := range s.of("segment") {
		speakers += e["speaker"].(string)
		if delta := s.of("delta")[i]; delta["segment_id"] != e["id"] || strings.TrimSpace(delta["delta"].(string)) != e["text"] {
			t.Errorf("a delta %v for the segment %v", delta, e)
		}
	}
	if speakers != "ABBA" || s.deltas() != s.done(t)["text"] {
		t.Errorf("speakers %s: %v", speakers, s.events)
	}
}

// withoutTexts takes away what the fake makes up.
func withoutTexts(v any) any {
	switch v := v.(type) {
	case []map[string]any:
		for i := range v {
			withoutTexts(v[i])
		}
	case []any:
		for i := range v {
			withoutTexts(v[i])
		}
	case map[string]any:
		delete(v, "text")
		delete(v, "word")
		for _, member := range v {
			withoutTexts(member)
		}
	}
	return v
}

// TestDeltasJoin: whatever space texts have at their ends, deltas are the text, and none cuts a character.
func TestDeltasJoin(t *testing.T) {
	for _, texts := range [][]string{
		{" a", " b."}, {"  ", " a ", "\n", " b  "}, {}, {" "}, {"你好", "，", "世界 "}, {" 👋", "🏽 "}, {"a", "b"}, {"\u00a0a\u3000"},
	} {
		var r engine.Result
		for _, text := range texts {
			r.Segments = append(r.Segments, engine.Segment{Text: text})
		}
		e := newTranscriptEvents(&wishes{format: JSON}, 1)
		events, err := e.heard(r.Segments)
		if err != nil {
			t.Fatal(err)
		}
		joined := ""
		for _, event := range events {
			var d textDelta
			if err := json.Unmarshal(event, &d); err != nil || !utf8.Valid(event) || d.Delta == "" {
				t.Errorf("%q: %v", event, err)
			}
			joined += d.Delta
		}
		if joined != r.Text() {
			t.Errorf("%q join to %q, want %q", texts, joined, r.Text())
		}
	}
}

func TestStreamErrorsBefore(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.post(t, transcriptionsPath, speechWAV(1, 1), "model", "whisper-1", "stream", "yes").wantError(t, 400, "invalid_value", "stream")
	ts.post(t, transcriptionsPath, speechWAV(1, 1), "model", "nothing", "stream", "true").wantError(t, 404, "model_not_found", "model")
	ts.post(t, transcriptionsPath, []byte("no audio at all, just text"), "model", "whisper-1", "stream", "true").wantError(t, 415, "unsupported_format", "file")
	ts.model.set(func(m *fakeModel) { m.fail = errors.New("broken") })
	ts.post(t, transcriptionsPath, speechWAV(1, 1), "model", "whisper-1", "stream", "true").wantError(t, 500, "internal_error", "")
	ts.model.set(func(m *fakeModel) { m.fail, m.panics = nil, true })
	ts.post(t, transcriptionsPath, speechWAV(1, 1), "model", "whisper-1", "stream", "true").wantError(t, 500, "internal_error", "")
	ts.model.set(func(m *fakeModel) { m.panics = false })
	if a := ts.post(t, transcriptionsPath, speechWAV(1, 1), "model", "whisper-1", "stream", "true", "response_format", "srt"); !strings.HasPrefix(a.body, "1\n00:") ||
		!strings.Contains(a.header.Get("X-Hark-Warning"), "stream is ignored") {
		t.Errorf("srt: %v %s", a.header, a.body)
	}
	s, a := ts.streamed(t, transcriptionsPath, silentWAV(3), "model", "whisper-1", "langauge", "en")
	if done := s.done(t); done["text"] != "" || len(s.events) != 1 || !strings.Contains(a.header.Get("X-Hark-Warning"), "did you mean language?") {
		t.Errorf("silence: %v with %v", s.events, a.header)
	}
}

// open begins a stream of a recording whose first window is heard at once and all
// others when the returned channel is closed.
func (ts *testServer) open(t *testing.T, ctx context.Context, headers ...string) (body io.ReadCloser, id string, hold chan struct{}) {
	t.Helper()
	hold = make(chan struct{})
	ts.model.batches.Store(0)
	ts.model.set(func(m *fakeModel) { m.holdAfter, m.info.MaxBatch = hold, 1 })
	contentType, text := form(speechWAV(100, 1), "model", "whisper-1", "stream", "true")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, ts.url+transcriptionsPath, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if a.StatusCode != 200 {
		text, _ := io.ReadAll(a.Body)
		t.Fatalf("status %d: %s", a.StatusCode, text)
	}
	t.Cleanup(func() { a.Body.Close() })
	return a.Body, a.Header.Get("x-request-id"), hold
}

// newStreamServer runs one window at a time.
func newStreamServer(t *testing.T) *testServer {
	ts := newColdServer(t, nil)
	ts.model.info.MaxBatch = 1
	ts.keepAliveEvery = 20 * time.Millisecond
	return ts
}

func TestStreamErrorsInside(t *testing.T) {
	ts := newStreamServer(t)
	body, _, hold := ts.open(t, t.Context())
	if s := readEvents(t, body, 1); len(s.of("delta")) != 1 {
		t.Fatalf("%v", s.events)
	}
	if line, err := bufio.NewReader(body).ReadString('\n'); !strings.HasPrefix(line, ":") && line != "\n" {
		t.Errorf("%q came while nothing was to be told, %v", line, err)
	}
	ts.model.set(func(m *fakeModel) { m.fail = errors.New("broken") })
	close(hold)
	s := readEvents(t, body, 1<<30)
	e, _ := s.events[len(s.events)-1]["error"].(map[string]any)
	if len(e) != 4 || e["code"] != "internal_error" || e["type"] != "server_error" || s.ended {
		t.Errorf("%v", s.events)
	}
	eventually(t, "the error is counted", func() bool {
		return strings.Contains(ts.log.String(), `"code":"internal_error"`) && strings.Contains(ts.metric(t, "hark_"), `"internal_error"`)
	})
}

func TestHangUpEndsStream(t *testing.T) {
	ts := newStreamServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	body, id, _ := ts.open(t, ctx)
	readEvents(t, body, 1)
	cancel()
	eventually(t, "the window is dropped", func() bool { return ts.model.lastJob().dropped.Load() })
	eventually(t, "the log says so", func() bool { return strings.Contains(ts.log.String(), `"status":499`) })
	ts.get(t, "/v1/streams/"+id).wantError(t, 404, "stream_not_found", "")
}

// TestHalfClosedStream: a client that has sent all may close its half of the link and read on; the events are whole.
func TestHalfClosedStream(t *testing.T) {
	ts := newStreamServer(t)
	hold := make(chan struct{})
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	contentType, text := form(speechWAV(3, 1), "model", "whisper-1", "stream", "true")
	conn, err := net.Dial("tcp", ts.listen(t, ts.Handler(), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", transcriptionsPath, contentType, len(text), text)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer := make(chan string)
	go func() {
		text, _ := io.ReadAll(conn)
		answer <- string(text)
	}()
	<-ts.model.begun
	eventually(t, "the server knows", func() bool { return ts.pending.Load() == 1 })
	close(hold)
	if got := <-answer; !strings.Contains(got, "transcript.text.done") || !strings.Contains(got, doneMark) {
		t.Errorf("got %q", got)
	}
}

func TestResume(t *testing.T) {
	ts := newStreamServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	body, id, hold := ts.open(t, ctx, "X-Hark-Resume", "true")
	first := readEvents(t, body, 1)
	cancel()
	resumed := make(chan *told)
	go func() {
		a := ts.with(t, http.MethodGet, "/v1/streams/"+id, nil, "Last-Event-ID", "1")
		resumed <- readEvents(t, strings.NewReader(a.body), 1<<30)
	}()
	ctx, cancel = context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, ts.url+"/v1/streams/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r) // another, from the start, that leaves again
	if err != nil {
		t.Fatal(err)
	}
	if s := readEvents(t, a.Body, 1); inJSON(t, s.events) != inJSON(t, first.events) {
		t.Errorf("from the start: %v", s.events)
	}
	cancel()
	ts.post(t, transcriptionsPath, speechWAV(1, 1)) // goes its way; waits for the device like the stream
	close(hold)
	s := <-resumed
	if want := s.done(t)["text"]; first.deltas()+s.deltas() != want || s.ids[0] != "2" {
		t.Errorf("%q and %q, want %q", first.deltas(), s.deltas(), want)
	}
	eventually(t, "the place is free", func() bool { return ts.pending.Load() == 0 })
	last := s.ids[len(s.ids)-1]
	for _, c := range []struct {
		id     string
		status int
	}{{last, 204}, {"", 200}, {"3", 200}, {"99", 410}, {"-1", 400}, {"x", 400}} {
		if a := ts.with(t, http.MethodGet, "/v1/streams/"+id, nil, "Last-Event-ID", c.id); a.status != c.status {
			t.Errorf("%q: status %d, want %d: %s", c.id, a.status, c.status, a.body)
		}
	}
	eventually(t, "the work went on to its end", func() bool { return strings.Contains(ts.log.String(), `"audio_s":100`) })
}

// TestStreamsAreTheirCallers: nobody else's, and one with the same id doesn't replace one under way.
func TestStreams(t *testing.T) {
	var s streams
	log := newEventLog(100)
	if err := s.begin("id", "me", log); err != nil || s.find("id", "me") != log || s.find("id", "you") != nil {
		t.Errorf("%v", err)
	}
	var e *apiError
	if err := s.begin("id", "me", newEventLog(100)); !errors.As(err, &e) || e.status != 409 {
		t.Errorf("%v", err)
	}
	if err := s.begin("id", "you", newEventLog(100)); err != nil {
		t.Error(err)
	}
	log.end(nil)
	s.end("id", "me", log)
	next := newEventLog(100)
	if err := s.begin("id", "me", next); err != nil || s.find("id", "me") != next || len(s.ended) != 0 {
		t.Errorf("%v, %d have ended", err, len(s.ended))
	}
	for i := range 5 {
		id := fmt.Sprint(i)
		big := newEventLog(maxKeptBytes)
		if err := s.begin(id, "me", big); err != nil {
			t.Fatal(err)
		}
		big.add(make([]byte, maxKeptBytes/2))
		big.end(nil)
		s.end(id, "me", big)
	}
	if s.find("2", "me") != nil || s.find("3", "me") == nil || s.find("4", "me") == nil || s.find("id", "me") != next {
		t.Errorf("%d are kept", len(s.ended))
	}
}

// TestForgottenStreamsAreFree: what is forgotten before its time takes no memory any more.
func TestForgottenStreamsAreFree(t *testing.T) {
	var s streams
	var first weak.Pointer[eventLog]
	for i := range 3 {
		log := newEventLog(maxKeptBytes)
		id := fmt.Sprint(i)
		if err := s.begin(id, "me", log); err != nil {
			t.Fatal(err)
		}
		if log.add(make([]byte, maxKeptBytes/2)); i == 0 {
			first = weak.Make(log)
		}
		log.end(nil)
		s.end(id, "me", log)
	}
	runtime.GC()
	if first.Value() != nil {
		t.Error("a stream that was forgotten is still held")
	}
}

// TestReplacedStream: one whose id another took before its reader had all of it goes alone.
func TestReplacedStream(t *testing.T) {
	var s streams
	first, next := newEventLog(100), newEventLog(100)
	for _, log := range []*eventLog{first, next} {
		if err := s.begin("id", "me", log); err != nil {
			t.Fatal(err)
		}
		log.end(nil)
	}
	s.end("id", "me", next)
	s.end("id", "me", first)
	if s.find("id", "me") != next || len(s.ended) != 1 {
		t.Errorf("%d are kept", len(s.ended))
	}
	s.forget(streamKey{"me", "id"})
	if n := s.endedBytes(); n != 0 {
		t.Errorf("%d bytes are kept", n)
	}
}

func TestEventLog(t *testing.T) {
	l := newEventLog(10)
	l.add([]byte("one"), []byte("two"))
	events, ended, changed, err := l.after(1)
	if err != nil || ended || len(events) != 1 || string(events[0]) != "two" {
		t.Errorf("%q, %t, %v", events, ended, err)
	}
	l.add([]byte("three"))
	<-changed
	l.forget(1)
	if _, _, _, err := l.after(0); !errors.Is(err, errEventsGone) {
		t.Error(err)
	}
	l.add([]byte("four, which is long"))
	l.end(nil)
	if events, ended, _, err := l.after(3); err != nil || !ended || len(events) != 1 {
		t.Errorf("%q, %t, %v", events, ended, err)
	}
	for _, number := range []int{2, 5, -1} {
		if _, _, _, err := l.after(number); !errors.Is(err, errEventsGone) {
			t.Errorf("after %d: %v", number, err)
		}
	}
}

// TestSlowStreamReader: who reads a byte now and then holds up neither the device nor others.
func TestSlowStreamReader(t *testing.T) {
	ts := newTestServer(t, nil)
	contentType, text := form(speechWAV(100, 1), "model", "whisper-1", "stream", "true")
	conn, err := net.Dial("tcp", strings.TrimPrefix(ts.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", transcriptionsPath, contentType, len(text), text)
	eventually(t, "all windows ran", func() bool { return ts.model.windows.Load() >= 4 })
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	ts.unaffected(t)
	eventually(t, "the place is free", func() bool { return ts.pending.Load() == 0 })
}

// FuzzEventID: an id is a number or an error that names its header, and what is behind it never breaks a log.
func FuzzEventID(f *testing.F) {
	for _, id := range []string{"", "0", "1", " 2 ", "-1", "9223372036854775807", "99999999999999999999", "1e3", "x", "\x00", "٣"} {
		f.Add(id)
	}
	l := newEventLog(100)
	l.add([]byte("one"), []byte("two"))
	l.forget(1)
	f.Fuzz(func(t *testing.T, id string) {
		n, err := parseEventID(id)
		var e *apiError
		if err != nil && (!errors.As(err, &e) || e.status != 400 || e.param != "Last-Event-ID" || !utf8.ValidString(e.message)) {
			t.Fatalf("%q: %v", id, err)
		}
		events, _, _, err := l.after(n)
		if (err == nil) != (n == 1 || n == 2) || len(events) > 1 {
			t.Errorf("behind %d: %q, %v", n, events, err)
		}
	})
}
