package server

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

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
