package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// liveClient is a client of a live session. Events are read in the background.
type liveClient struct {
	t      *testing.T
	conn   *websocket.Conn
	events chan map[string]any // closed with the link
	closed error               // why, once events is closed
	seen   []map[string]any
}

// liveURL is the address of a session.
func (ts *testServer) liveURL(query string) string { return ts.url + "/v1/realtime?" + query }

// live opens a session.
func (ts *testServer) openLive(t *testing.T, query string, o *websocket.DialOptions) *liveClient {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), ts.liveURL(query), o)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	c := &liveClient{t: t, conn: conn, events: make(chan map[string]any, 10_000)}
	t.Cleanup(func() { conn.CloseNow() })
	go func() {
		defer close(c.events)
		for {
			_, message, err := conn.Read(context.Background())
			if err != nil {
				c.closed = err
				return
			}
			var e map[string]any
			if err := json.Unmarshal(message, &e); err != nil {
				c.closed = fmt.Errorf("%q is not JSON: %w", message, err)
				return
			}
			c.events <- e
		}
	}()
	return c
}

// send sends an event, given as JSON.
func (c *liveClient) send(format string, args ...any) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		c.t.Fatal(err)
	}
}

// append sends sound as events of so many bytes.
func (c *liveClient) append(sound []byte, piece int) {
	c.t.Helper()
	for len(sound) > 0 {
		n := min(piece, len(sound))
		c.send(`{"type":"input_audio_buffer.append","audio":%q}`, base64.StdEncoding.EncodeToString(sound[:n]))
		sound = sound[n:]
	}
}

// await returns the next event of a type, and fails at an error that isn't waited for.
func (c *liveClient) await(kind string) map[string]any {
	c.t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case e, ok := <-c.events:
			if !ok {
				c.t.Fatalf("the link is closed before %s: %v", kind, c.closed)
			}
			c.seen = append(c.seen, e)
			if id, _ := e["event_id"].(string); id == "" {
				c.t.Errorf("event without an id: %v", e)
			}
			if e["type"] == kind {
				return e
			}
			if e["type"] == "error" {
				c.t.Fatalf("before %s came %v", kind, e)
			}
		case <-timeout:
			c.t.Fatalf("there is no %s after %v", kind, c.seen)
		}
	}
}

// end waits until the link is closed and returns how, with the last event.
func (c *liveClient) end() (websocket.StatusCode, map[string]any) {
	c.t.Helper()
	var last map[string]any
	for e := range c.events {
		last = e
	}
	return websocket.CloseStatus(c.closed), last
}

// wantError awaits an error and checks what it says.
func (c *liveClient) wantError(code, param, id string) {
	c.t.Helper()
	e, _ := c.await("error")["error"].(map[string]any)
	got := fmt.Sprint(e["code"], " ", e["param"], " ", e["event_id"])
	orNil := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	if want := fmt.Sprint(code, " ", orNil(param), " ", orNil(id)); got != want || e["message"] == "" || e["type"] == "" {
		c.t.Errorf("got error %v, want %s", e, want)
	}
}

const (
	transcriptionEvent = "conversation.item.input_audio_transcription."
	atClip             = `{"type":"session.update","session":{"type":"transcription","audio":{"input":{"format":{"type":"audio/pcm","rate":16000},"turn_detection":null}}}}`
)

// speechPCM is made speech as 16-bit PCM at 16 kHz.
func speechPCM(seconds float64, seed int) []byte { return speechWAV(seconds, seed)[44:] }

// pausePCM is as much silence.
func pausePCM(seconds float64) []byte { return silentWAV(seconds)[44:] }

// texts are the joined deltas and the joined segments of an item.
func (c *liveClient) texts(item string) (deltas, segments string) {
	for _, e := range c.seen {
		if e["item_id"] != item {
			continue
		}
		switch e["type"] {
		case transcriptionEvent + "delta":
			deltas += e["delta"].(string)
		case transcriptionEvent + "segment":
			segments += e["text"].(string)
		}
	}
	return deltas, segments
}

// whole awaits an item's transcript and holds it to its deltas and segments.
func (c *liveClient) whole() (item, text string) {
	c.t.Helper()
	done := c.await(transcriptionEvent + "completed")
	item, text = done["item_id"].(string), done["transcript"].(string)
	deltas, segments := c.texts(item)
	if deltas != text || strings.TrimSpace(segments) != text {
		c.t.Errorf("transcript %q, deltas %q, segments %q", text, deltas, segments)
	}
	return item, text
}

func TestLiveItems(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.openLive(t, "intent=transcription", &websocket.DialOptions{Subprotocols: []string{"realtime"}})
	if got := c.conn.Subprotocol(); got != "realtime" {
		t.Errorf("got subprotocol %q", got)
	}
	created := c.await("session.created")["session"].(map[string]any)
	if created["type"] != "transcription" || created["object"] != "realtime.transcription_session" {
		t.Errorf("got session %v", created)
	}
	c.send(atClip)
	input := c.await("session.updated")["session"].(map[string]any)["audio"].(map[string]any)["input"].(map[string]any)
	if got, want := fmt.Sprint(input["format"], input["turn_detection"]), "map[rate:16000 type:audio/pcm] <nil>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for i := range 2 {
		c.append(speechPCM(3, i), 3200)
		c.send(`{"type":"input_audio_buffer.commit","event_id":"mine"}`)
		committed := c.await("input_audio_buffer.committed")
		added := c.await("conversation.item.added")
		c.await("conversation.item.done")
		item, text := c.whole()
		if committed["item_id"] != item || added["item"].(map[string]any)["id"] != item {
			t.Errorf("committed %v, added %v, completed %v", committed, added, item)
		}
		if !strings.HasPrefix(text, "heard ") {
			t.Errorf("got %q", text)
		}
		last := c.seen[len(c.seen)-1]
		if got := fmt.Sprint(last["usage"], last["content_index"]); got != "map[seconds:3 type:duration] 0" {
			t.Errorf("got %s", got)
		}
		for _, e := range c.seen {
			if e["type"] == transcriptionEvent+"segment" && e["item_id"] == item {
				if start, end := e["start"].(float64), e["end"].(float64); start < 3*float64(i) || end > 3*float64(i+1) || e["id"] != "seg_001" {
					t.Errorf("item %d has segment %v", i, e)
				}
			}
		}
	}
	c.conn.Close(websocket.StatusNormalClosure, "")
	eventually(t, "the session's line", func() bool { return strings.Contains(ts.log.String(), `"ended":"client_closed"`) })
	if got := ts.metric(t, "hark_live_turns_total"); got != `hark_live_turns_total{outcome="completed"} 2` {
		t.Errorf("got %s", got)
	}
	if got := ts.metric(t, "hark_live_sessions "); got != "hark_live_sessions 0" {
		t.Errorf("got %s", got)
	}
}

// TestLiveSoundForms has the same sound come in all forms: the model must hear as much of it.
func TestLiveSoundForms(t *testing.T) {
	ts := newTestServer(t, nil)
	for _, form := range []struct {
		format string
		bytes  int // a second
	}{
		{`{"type":"audio/pcm","rate":24000}`, 48000},
		{`{"type":"audio/pcm","rate":16000}`, 32000},
		{`{"type":"audio/pcm","rate":8000}`, 16000},
		{`{"type":"audio/pcm"}`, 48000},
		{`{"type":"audio/pcmu"}`, 8000},
		{`{"type":"audio/pcma","rate":8000}`, 8000},
		{`"pcm16"`, 48000},
		{`"g711_ulaw"`, 8000},
		{`"g711_alaw"`, 8000},
	} {
		c := ts.openLive(t, "intent=transcription", nil)
		c.await("session.created")
		c.send(`{"type":"session.update","session":{"audio":{"input":{"format":%s,"turn_detection":null}}}}`, form.format)
		c.await("session.updated")
		c.append(make([]byte, form.bytes/2), 1001)
		if err := c.conn.Write(t.Context(), websocket.MessageBinary, make([]byte, form.bytes/2)); err != nil {
			t.Fatal(err)
		}
		c.send(`{"type":"input_audio_buffer.commit"}`)
		done := c.await(transcriptionEvent + "completed")
		if got := done["usage"].(map[string]any)["seconds"]; got != 1.0 {
			t.Errorf("%s: %d bytes are %v s, want 1", form.format, form.bytes, got)
		}
	}
}

func TestLiveTurns(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.openLive(t, "intent=transcription", nil)
	c.await("session.created")
	c.send(`{"type":"session.update","session":{"audio":{"input":{"format":{"type":"audio/pcm","rate":16000},"turn_detection":{"type":"server_vad","threshold":0.4,"prefix_padding_ms":200,"silence_duration_ms":400}}}}}`)
	c.await("session.updated")
	c.append(pausePCM(1), 3200)
	for i := range 2 {
		c.append(speechPCM(2, i), 3200)
		c.append(pausePCM(2), 3200)
		started := c.await("input_audio_buffer.speech_started")
		stopped := c.await("input_audio_buffer.speech_stopped")
		c.await("input_audio_buffer.committed")
		item, _ := c.whole()
		if started["item_id"] != item || stopped["item_id"] != item {
			t.Errorf("%v, %v, item %v", started, stopped, item)
		}
		begin := 1000 + 4000*float64(i)
		if at := started["audio_start_ms"].(float64); at < begin-500 || at > begin+100 {
			t.Errorf("turn %d starts at %v ms, its speech at %v", i, at, begin)
		}
		if at := stopped["audio_end_ms"].(float64); at < begin+1800 || at > begin+2900 {
			t.Errorf("turn %d ends at %v ms, its speech at %v", i, at, begin+2000)
		}
	}
}

// TestLiveBeta speaks the API as it was in beta.
func TestLiveBeta(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.openLive(t, "intent=transcription", &websocket.DialOptions{HTTPHeader: http.Header{"Openai-Beta": {"realtime=v1"}}})
	c.await("transcription_session.created")
	c.send(`{"type":"transcription_session.update","session":{"input_audio_format":"g711_ulaw","input_audio_transcription":{"model":"gpt-4o-transcribe","language":"de"},"turn_detection":null,"input_audio_noise_reduction":{"type":"near_field"}}}`)
	updated := c.await("transcription_session.updated")
	session := updated["session"].(map[string]any)
	if got := fmt.Sprintln(session["input_audio_format"], session["input_audio_transcription"], session["turn_detection"], session["input_audio_noise_reduction"]); got != "g711_ulaw map[language:de model:gpt-4o-transcribe prompt:] <nil> <nil>\n" {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(updated["hark"]); !strings.Contains(got, "session.input_audio_noise_reduction is ignored") {
		t.Errorf("got warnings %s", got)
	}
	c.append(make([]byte, 8000), 8000)
	c.send(`{"type":"input_audio_buffer.commit"}`)
	c.await("conversation.item.created")
	c.await(transcriptionEvent + "completed")

	c = ts.openLive(t, "intent=transcription", &websocket.DialOptions{Subprotocols: []string{"realtime", "openai-insecure-api-key.none", "openai-beta.realtime-v1"}})
	c.await("transcription_session.created")
}

// TestLiveMistakes holds what is wrong to an error that names it, after which the session goes on.
func TestLiveMistakes(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.openLive(t, "intent=transcription", nil)
	c.await("session.created")
	update := func(session string) string {
		return `{"type":"session.update","event_id":"e1","session":` + session + `}`
	}
	input := func(members string) string { return update(`{"audio":{"input":{` + members + `}}}`) }
	const in = "session.audio.input."
	for _, m := range []struct{ event, code, param, id string }{
		{`no JSON`, "invalid_json", "", ""},
		{`[]`, "invalid_json", "", ""},
		{`{"type":7}`, "invalid_json", "", ""},
		{`{}`, "missing_required_parameter", "type", ""},
		{`{"type":"response.create","event_id":"e1"}`, "invalid_value", "type", "e1"},
		{`{"type":"input_audio_buffer.append","event_id":"e1"}`, "missing_required_parameter", "audio", "e1"},
		{`{"type":"input_audio_buffer.append","event_id":"e1","audio":"a*b"}`, "invalid_value", "audio", "e1"},
		{`{"type":"input_audio_buffer.commit","event_id":"e1"}`, "input_audio_buffer_commit_empty", "", "e1"},
		{`{"type":"session.update","event_id":"e1"}`, "missing_required_parameter", "session", "e1"},
		{update(`7`), "invalid_type", "session", "e1"},
		{update(`{"type":"realtime"}`), "invalid_value", "session.type", "e1"},
		{update(`{"include":["item"]}`), "invalid_value", "session.include", "e1"},
		{update(`{"include":7}`), "invalid_type", "session.include", "e1"},
		{update(`{"input_audio_format":"mp3"}`), "invalid_value", "session.input_audio_format", "e1"},
		{input(`"format":{"type":"audio/mp3"}`), "invalid_value", in + "format.type", "e1"},
		{input(`"format":{"type":"audio/pcm","rate":11025}`), "invalid_value", in + "format.rate", "e1"},
		{input(`"format":{"type":"audio/pcmu","rate":16000}`), "invalid_value", in + "format.rate", "e1"},
		{input(`"format":7`), "invalid_type", in + "format", "e1"},
		{input(`"transcription":"whisper-1"`), "invalid_type", in + "transcription", "e1"},
		{input(`"transcription":{"model":"nobody"}`), "model_not_found", "model", "e1"},
		{input(`"transcription":{"model":7}`), "invalid_type", in + "transcription.model", "e1"},
		{input(`"transcription":{"language":"xx"}`), "invalid_language", in + "transcription.language", "e1"},
		{input(`"transcription":{"language":"en","languages":["de"]}`), "conflicting_values", in + "transcription.languages", "e1"},
		{input(`"transcription":{"keywords":["<a>"]}`), "invalid_value", in + "transcription.keywords", "e1"},
		{input(`"transcription":{"delay":"long"}`), "invalid_value", in + "transcription.delay", "e1"},
		{input(`"transcription":{"prompt":"` + strings.Repeat("a", maxPromptBytes+1) + `"}`), "too_long", in + "transcription.prompt", "e1"},
		{input(`"turn_detection":{"type":"magic"}`), "invalid_value", in + "turn_detection.type", "e1"},
		{input(`"turn_detection":{"type":"semantic_vad","eagerness":"x"}`), "invalid_value", in + "turn_detection.eagerness", "e1"},
		{input(`"turn_detection":{"threshold":1.5}`), "invalid_value", in + "turn_detection.threshold", "e1"},
		{input(`"turn_detection":{"prefix_padding_ms":-1}`), "invalid_value", in + "turn_detection.prefix_padding_ms", "e1"},
		{input(`"turn_detection":{"silence_duration_ms":"5"}`), "invalid_type", in + "turn_detection.silence_duration_ms", "e1"},
	} {
		c.send("%s", m.event)
		c.wantError(m.code, m.param, m.id)
	}
	// Nothing of all that has changed the session.
	c.send(atClip)
	session := c.await("session.updated")["session"].(map[string]any)["audio"].(map[string]any)["input"].(map[string]any)
	if got := fmt.Sprint(session["transcription"]); got != "map[language:<nil> model:fake prompt:]" {
		t.Errorf("got %s", got)
	}
	c.append(speechPCM(1, 1), 3200)
	c.send(`{"type":"input_audio_buffer.clear"}`)
	c.await("input_audio_buffer.cleared")
	c.append(speechPCM(2, 1), 3200)
	c.send(`{"type":"input_audio_buffer.commit"}`)
	c.whole()
	if got := c.seen[len(c.seen)-1]["usage"].(map[string]any)["seconds"]; got != 2.0 {
		t.Errorf("the item has %v s, but one of 3 was cleared", got)
	}
}

func TestLiveSettingsReachTheModel(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.openLive(t, "model=gpt-4o-transcribe", nil)
	c.await("session.created")
	c.send(atClip)
	c.await("session.updated")
	c.send(`{"type":"session.update","session":{"include":["item.input_audio_transcription.logprobs"],"audio":{"input":{"noise_reduction":{"type":"far_field"},"transcription":{"language":"pt-BR","prompt":"p","keywords":["k"],"delay":"high","colour":"red"},"turn_detection":{"type":"semantic_vad","eagerness":"low"}},"output":{"voice":"alloy"}}}}`)
	updated := c.await("session.updated")
	warnings := fmt.Sprint(updated["hark"])
	for _, want := range []string{"noise_reduction is ignored", "transcription.colour is ignored", "audio.output is ignored", "no semantic_vad"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("got warnings %s, want one that says %s", warnings, want)
		}
	}
	session := updated["session"].(map[string]any)
	input := session["audio"].(map[string]any)["input"].(map[string]any)
	if got, want := fmt.Sprint(input["transcription"]), "map[delay:high keywords:[k] language:pt-BR model:gpt-4o-transcribe prompt:p]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(input["turn_detection"]), "map[prefix_padding_ms:300 silence_duration_ms:1000 threshold:0.5 type:server_vad]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.send(`{"type":"session.update","session":{"audio":{"input":{"turn_detection":null}}}}`)
	c.await("session.updated")
	c.append(speechPCM(2, 1), 64000)
	c.send(`{"type":"input_audio_buffer.commit"}`)
	c.whole()
	o := ts.model.lastOptions()
	if o.Language != "pt" || o.Prompt != "p" || fmt.Sprint(o.Keywords) != "[k]" || !o.LogProbs || o.Draft {
		t.Errorf("got %+v", o)
	}
	// Absent members stay, null clears.
	c.send(`{"type":"session.update","session":{"include":null,"audio":{"input":{"transcription":{"prompt":null,"keywords":null,"language":null}}}}}`)
	session = c.await("session.updated")["session"].(map[string]any)
	input = session["audio"].(map[string]any)["input"].(map[string]any)
	if got, want := fmt.Sprint(session["include"], input["transcription"]), "<nil> map[delay:high language:<nil> model:gpt-4o-transcribe prompt:]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// Transcription can be off.
	c.send(`{"type":"session.update","session":{"audio":{"input":{"transcription":null}}}}`)
	c.await("session.updated")
	c.append(speechPCM(2, 1), 64000)
	c.send(`{"type":"input_audio_buffer.commit"}`)
	c.await("conversation.item.done")
}

func TestLiveFailure(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.openLive(t, "intent=transcription", nil)
	c.await("session.created")
	c.send(atClip)
	c.await("session.updated")
	c.send(`{"type":"session.update","session":{"audio":{"input":{"transcription":{"language":"fr"}}}}}`) // which the fake doesn't know
	c.await("session.updated")
	c.append(speechPCM(2, 1), 64000)
	c.send(`{"type":"input_audio_buffer.commit"}`)
	failed := c.await(transcriptionEvent + "failed")
	if e := failed["error"].(map[string]any); e["param"] != "language" || e["code"] != "unsupported_value" {
		t.Errorf("got %v", failed)
	}
	ts.model.set(func(m *fakeModel) { m.fail = io.ErrUnexpectedEOF })
	c.send(`{"type":"session.update","session":{"audio":{"input":{"transcription":{"language":"en"}}}}}`)
	c.await("session.updated")
	c.append(speechPCM(2, 1), 64000)
	c.send(`{"type":"input_audio_buffer.commit"}`)
	failed = c.await(transcriptionEvent + "failed")
	if e := failed["error"].(map[string]any); e["code"] != "internal_error" || strings.Contains(fmt.Sprint(e), "EOF") {
		t.Errorf("got %v", failed)
	}
	ts.model.set(func(m *fakeModel) { m.fail = nil })
	c.append(speechPCM(2, 1), 64000)
	c.send(`{"type":"input_audio_buffer.commit"}`)
	c.whole()
}

func TestLiveHandshakes(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.CORSOrigins = []string{"https://page.example"} })
	plain := ts.get(t, "/v1/realtime")
	plain.wantError(t, http.StatusUpgradeRequired, "upgrade_required", "")
	if got := plain.header.Get("Upgrade"); got != "websocket" {
		t.Errorf("got Upgrade %q", got)
	}
	dial := func(query string, header http.Header) *answer {
		conn, response, err := websocket.Dial(t.Context(), ts.liveURL(query), &websocket.DialOptions{HTTPHeader: header})
		if err == nil {
			conn.CloseNow()
			return &answer{status: http.StatusSwitchingProtocols}
		}
		if response == nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		return &answer{response.StatusCode, response.Header, string(body)}
	}
	dial("intent=conversation", nil).wantError(t, http.StatusBadRequest, "invalid_value", "intent")
	dial("model=nobody", nil).wantError(t, http.StatusNotFound, "model_not_found", "model")
	dial("", http.Header{"Origin": {"https://evil.example"}}).wantError(t, http.StatusForbidden, "origin_not_allowed", "")
	for _, origin := range []string{"https://page.example", ts.url} {
		if a := dial("", http.Header{"Origin": {origin}}); a.status != http.StatusSwitchingProtocols {
			t.Errorf("origin %s: got %d %s", origin, a.status, a.body)
		}
	}
	if a := dial("model=gpt-realtime-whisper", nil); a.status != http.StatusSwitchingProtocols {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

func TestLiveSessionsAreBounded(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.MaxLive = 1 })
	first := ts.openLive(t, "", nil)
	first.await("session.created")
	_, response, err := websocket.Dial(t.Context(), ts.liveURL(""), nil)
	if err == nil {
		t.Fatal("a second session was let in")
	}
	body, _ := io.ReadAll(response.Body)
	a := &answer{response.StatusCode, response.Header, string(body)}
	a.wantError(t, http.StatusTooManyRequests, "too_many_sessions", "")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	first.conn.Close(websocket.StatusNormalClosure, "")
	eventually(t, "a free place", func() bool {
		conn, _, err := websocket.Dial(t.Context(), ts.liveURL(""), nil)
		if err == nil {
			conn.CloseNow()
		}
		return err == nil
	})
}

// TestLiveAhead has a client send more than is kept.
func TestLiveAhead(t *testing.T) {
	ts := newTestServer(t, nil)
	hold := make(chan struct{})
	defer close(hold)
	c := ts.openLive(t, "", nil)
	c.await("session.created")
	c.send(atClip)
	c.await("session.updated")
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	minute := speechPCM(60, 1)
	for range 6 {
		if c.conn.Write(t.Context(), websocket.MessageBinary, minute) != nil {
			break
		}
	}
	code, last := c.end()
	if e, _ := last["error"].(map[string]any); code != websocket.StatusPolicyViolation || e["code"] != "input_audio_buffer_overflow" {
		t.Errorf("got %d after %v", code, last)
	}
}

func TestLiveHugeMessage(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.openLive(t, "", nil)
	c.await("session.created")
	go c.conn.Write(t.Context(), websocket.MessageBinary, make([]byte, maxEventBytes+1))
	if code, _ := c.end(); code != websocket.StatusMessageTooBig {
		t.Errorf("got %d", code)
	}
}

func TestLiveIdleAndExpired(t *testing.T) {
	for reason, change := range map[string]func(*Config){
		"session_idle":    func(c *Config) { c.LiveIdleTimeout = 50 * time.Millisecond },
		"session_expired": func(c *Config) { c.MaxLiveTime = 50 * time.Millisecond },
	} {
		ts := newTestServer(t, change)
		code, last := ts.openLive(t, "", nil).end()
		if e, _ := last["error"].(map[string]any); code != websocket.StatusNormalClosure || e["code"] != reason {
			t.Errorf("%s: got %d after %v", reason, code, last)
		}
	}
}

// TestLiveStop stops the server while somebody speaks: what was said is transcribed, and the client told.
func TestLiveStop(t *testing.T) {
	ts, stop, ended := serveHere(t, func(*Config) {})
	c := ts.openLive(t, "", nil)
	c.await("session.created")
	c.send(atClip)
	c.await("session.updated")
	c.append(speechPCM(2, 1), 64000)
	c.send(`{"type":"session.update","session":{}}`)
	c.await("session.updated") // all is heard
	stop()
	if _, text := c.whole(); text == "" {
		t.Error("there is no transcript")
	}
	code, last := c.end()
	if e, _ := last["error"].(map[string]any); code != websocket.StatusGoingAway || e["code"] != "shutting_down" {
		t.Errorf("got %d after %v", code, last)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestLiveStopWithoutPatience(t *testing.T) {
	ts, stop, ended := serveHere(t, func(c *Config) { c.ShutdownGrace = -1 })
	hold := make(chan struct{})
	defer close(hold)
	c := ts.openLive(t, "", nil)
	c.await("session.created")
	c.send(atClip)
	c.await("session.updated")
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	c.append(speechPCM(2, 1), 64000)
	c.send(`{"type":"input_audio_buffer.commit"}`)
	c.await("conversation.item.done")
	stop()
	if code, _ := c.end(); code != websocket.StatusGoingAway {
		t.Errorf("got %d: %v", code, c.closed)
	}
	<-ended
}

// TestLiveSlowReader has a client not read what it is told.
func TestLiveSlowReader(t *testing.T) {
	ts := newTestServer(t, nil)
	conn, _, err := websocket.Dial(t.Context(), ts.liveURL(""), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	bad := []byte(`{"type":"` + strings.Repeat("x", 1000) + `"}`)
	for range 200_000 {
		if conn.Write(t.Context(), websocket.MessageText, bad) != nil {
			break
		}
		if strings.Contains(ts.log.String(), `"ended":"slow_reader"`) {
			break
		}
	}
	eventually(t, "the end of the session", func() bool { return strings.Contains(ts.log.String(), `"ended":"slow_reader"`) })
}

func TestLivePartials(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.openLive(t, "", nil)
	c.await("session.created")
	c.send(`{"type":"session.update","session":{"audio":{"input":{"format":{"type":"audio/pcm","rate":16000}}}}}`)
	c.await("session.updated")
	c.append(pausePCM(1), 3200)
	speech := speechPCM(20, 1)
	for at := 0; at < len(speech); at += 16000 {
		c.append(speech[at:at+16000], 16000)
		time.Sleep(2 * time.Millisecond)
	}
	// The fake hears "heard" and a number that changes: the first word is settled while the speech goes on.
	if delta := c.await(transcriptionEvent + "delta"); delta["delta"] != "heard" {
		t.Errorf("got %v", delta)
	}
	c.append(pausePCM(1), 3200)
	c.await("input_audio_buffer.speech_stopped")
	c.whole()
	if got := ts.metric(t, "hark_live_first_text_seconds_count"); got != "hark_live_first_text_seconds_count 1" {
		t.Errorf("got %s", got)
	}
	drafts := 0
	ts.model.set(func(m *fakeModel) {
		for _, o := range m.jobs {
			if o.Draft {
				drafts++
				if fmt.Sprint(o.Temperatures) != "[0]" {
					t.Errorf("a draft was asked for with %+v", o)
				}
			}
		}
	})
	if drafts < 2 {
		t.Errorf("%d drafts were heard", drafts)
	}
}
