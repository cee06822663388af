package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/rs/zerolog"

	"hark/engine"
)

// FuzzLiveSettings holds what becomes of any session object to being usable and, told
// to the client and sent back, the same.
func FuzzLiveSettings(f *testing.F) {
	f.Add([]byte(`{"type":"transcription","include":["item.input_audio_transcription.logprobs"],"audio":{"input":{"format":{"type":"audio/pcm","rate":16000},"noise_reduction":{"type":"near_field"},"transcription":{"model":"fake","language":"pt-BR","prompt":"p","keywords":["k"],"delay":"low"},"turn_detection":{"type":"server_vad","threshold":0.3,"prefix_padding_ms":100,"silence_duration_ms":700}}}}`))
	f.Add([]byte(`{"input_audio_format":"g711_ulaw","input_audio_transcription":{"model":"whisper-1"},"turn_detection":null,"input_audio_noise_reduction":null,"modalities":["text"]}`))
	f.Add([]byte(`{"audio":{"input":{"transcription":null,"turn_detection":{"type":"semantic_vad","eagerness":"low"}},"output":{}}}`))
	f.Add([]byte(`{"audio":{"input":{"transcription":{"languages":["en","de"]},"format":"pcm16"}}}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"a\\u0000b":[1],"audio":null}`))
	resolve := func(name string) (string, error) { return name, nil }
	f.Fuzz(func(t *testing.T, raw []byte) {
		v := newLiveSettings()
		warnings, err := v.update(raw)
		if err != nil {
			if e := explain(err); e.status != 400 || e.message == "" || !utf8.ValidString(e.message) {
				t.Fatalf("%q is refused with %d %q", raw, e.status, e.message)
			}
			return
		}
		for _, w := range warnings {
			if !utf8.ValidString(w) || len(w) > 300 {
				t.Errorf("warning %q", w)
			}
		}
		s, err := v.session(resolve)
		if err != nil {
			t.Fatal(err)
		}
		if turns := s.Turns; turns != nil && (turns.Threshold < 0 || turns.Threshold > 1 || turns.Padding < 0 || turns.Silence <= 0 || turns.Silence > time.Minute) {
			t.Errorf("turns %+v", turns)
		}
		for _, beta := range []bool{false, true} {
			told, err := json.Marshal(v.wire("sess_1", time.Unix(1, 0), beta))
			if err != nil {
				t.Fatal(err)
			}
			again := newLiveSettings()
			if _, err := again.update(told); err != nil {
				t.Fatalf("what was told is refused: %v: %s", err, told)
			}
			if beta && again.format.codec == v.format.codec {
				again.format = v.format // beta has no rates
			}
			if retold, err := json.Marshal(again.wire("sess_1", time.Unix(1, 0), beta)); err != nil || !bytes.Equal(retold, told) {
				t.Errorf("told %s, then %s (%v)", told, retold, err)
			}
		}
	})
}

// FuzzLiveMessages sends any two messages to a session: it answers, and either goes on or closes the link with a code.
func FuzzLiveMessages(f *testing.F) {
	f.Add([]byte(`{"type":"input_audio_buffer.append","audio":"AAAA"}`), true, []byte(`{"type":"input_audio_buffer.commit","event_id":"e"}`), true)
	f.Add([]byte(`{"type":"session.update","session":{"audio":{"input":{"format":"g711_alaw","turn_detection":null}}}}`), true, []byte{0x55, 0xd5, 0x00}, false)
	f.Add([]byte(`{"type":"input_audio_buffer.clear"}`), true, []byte(`[`), true)
	f.Add([]byte{1}, false, []byte{}, false)
	f.Add([]byte("\xff"), true, []byte(`{"type":"transcription_session.update","session":{}}`), true)
	model := newFakeModel("fake")
	registry := engine.NewRegistry(engine.RegistryConfig{Load: func(context.Context, string) (engine.Model, error) { return model, nil }})
	s, err := New(Config{Models: []string{"fake"}, MaxLive: 1000}, registry, zerolog.Nop())
	if err != nil {
		f.Fatal(err)
	}
	ts := httptest.NewServer(s.Handler())
	f.Cleanup(ts.Close)
	f.Fuzz(func(t *testing.T, first []byte, firstText bool, second []byte, secondText bool) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		link, _, err := websocket.Dial(ctx, ts.URL+"/v1/realtime", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer link.CloseNow()
		for _, m := range []struct {
			message []byte
			text    bool
		}{{first, firstText}, {second, secondText}, {[]byte(`{"type":"end"}`), true}} {
			kind := websocket.MessageBinary
			if m.text {
				kind = websocket.MessageText
			}
			if err := link.Write(ctx, kind, m.message); err != nil {
				break // closed, which the reading below shows
			}
		}
		for {
			_, message, err := link.Read(ctx)
			if err != nil {
				t.Fatalf("the session did not go on: %v", err)
			}
			var e struct {
				Type  string `json:"type"`
				Error struct{ Param, Message string }
			}
			if err := json.Unmarshal(message, &e); err != nil || e.Type == "" {
				t.Fatal(fmt.Errorf("%q: %w", message, err))
			}
			if e.Type == "error" && e.Error.Param == "type" && bytes.Contains(message, []byte(`\"end\"`)) {
				return // the last message was understood
			}
		}
	})
}
