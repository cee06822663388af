package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

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

func TestLivePartials(t *testing.T) {
	ts := newTestServer(t, nil)
	c := ts.openLive(t, "", nil)
	c.await("session.created")
	c.send(`{"type":"session.update","session":{"audio":{"input":{"format":{"type":"audio/pcm","rate":16000}}}}}`)
	c.await("session.updated")
	c.append(pausePCM(1), 3200)
	speech := speechPCM(25, 1)
	say := func(n int) {
		c.append(speech[:n], n)
		speech = speech[n:]
	}
	drafts := func() (n float64) {
		for line := range strings.Lines(ts.metric(t, "hark_live_partials_total")) {
			n += ts.count(t, line[:strings.LastIndex(line, " ")])
		}
		return n
	}
	say(5 * 32000)
	eventually(t, "a draft", func() bool { return drafts() == 1 })
	say(2 * 32000)
	eventually(t, "another", func() bool { // not before the first one's time has passed once more, so speak on
		if drafts() < 2 && len(speech) > 0 {
			say(320)
		}
		return drafts() >= 2
	})
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
	ts.model.set(func(m *fakeModel) {
		for _, o := range m.jobs {
			if o.Draft && fmt.Sprint(o.Temperatures) != "[0]" {
				t.Errorf("a draft was asked for with %+v", o)
			}
		}
	})
}
