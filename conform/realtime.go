package conform

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/coder/websocket"
)

// liveFormat is how a live session takes sound, as OpenAI's session.update names it.
type liveFormat struct {
	Type string `json:"type"`
	Rate int    `json:"rate,omitempty"` // Hz; audio/pcmu is always of 8000
}

// encode are samples of 16 kHz in that form.
func (f liveFormat) encode(samples []int16) []byte {
	if f.Type == "audio/pcmu" {
		var out []byte
		for _, v := range resample(samples, 8000) {
			out = append(out, muLaw(v))
		}
		return out
	}
	return pcm16(resample(samples, f.Rate))
}

// liveEvent is what a server says in a live session, as far as it is looked at.
type liveEvent struct {
	Type       string          `json:"type"`
	Transcript string          `json:"transcript"`
	Delta      string          `json:"delta"`
	Start      float64         `json:"start"`
	End        float64         `json:"end"`
	Error      json.RawMessage `json:"error"`
}

// maxLiveBytes bounds one message of a live session.
const maxLiveBytes = 1 << 20

// live is T20: the clip through a live session. Pieces of it are appended, then
// committed; the transcript comes as an event.
func live(format liveFormat) check {
	return func(ctx context.Context, s *session) (string, error) {
		header := http.Header{}
		s.authorize(header)
		u := s.base.JoinPath("realtime")
		u.RawQuery = "intent=transcription"
		link, response, err := websocket.Dial(ctx, u.String(),
			&websocket.DialOptions{HTTPClient: s.client, HTTPHeader: header, Subprotocols: []string{"realtime"}})
		if err != nil {
			if response != nil {
				err = fmt.Errorf("no live session: status %d", response.StatusCode)
			}
			return "", err
		}
		defer link.CloseNow()
		link.SetReadLimit(maxLiveBytes)
		said := make(chan error, 1)
		go func() { said <- s.speak(ctx, link, format) }()
		text, err := hearken(ctx, link)
		if err != nil {
			return "", err
		}
		if err := <-said; err != nil {
			return "", err
		}
		return brief(text), s.speech.matches(text, 0, clipSeconds)
	}
}

// speak sets a session up and sends the clip.
func (s *session) speak(ctx context.Context, link *websocket.Conn, format liveFormat) error {
	type object = map[string]any
	send := func(v object) error {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		return link.Write(ctx, websocket.MessageText, text)
	}
	input := object{"format": format, "turn_detection": nil,
		"transcription": object{"model": s.cfg.Model, "language": "en"}}
	if err := send(object{"type": "session.update",
		"session": object{"type": "transcription", "audio": object{"input": input}}}); err != nil {
		return err
	}
	const piece = 4800 // bytes: 100 ms of 24 kHz
	for sound := format.encode(s.speech.cut(0, clipSeconds)); len(sound) > 0; {
		n := min(piece, len(sound))
		if err := send(object{"type": "input_audio_buffer.append",
			"audio": base64.StdEncoding.EncodeToString(sound[:n])}); err != nil {
			return err
		}
		sound = sound[n:]
	}
	return send(object{"type": "input_audio_buffer.commit"})
}

// hearken reads events up to the transcript of what was committed. Deltas, if there are any, must be it, and segments
// lie within the clip, one behind the other.
func hearken(ctx context.Context, link *websocket.Conn) (string, error) {
	const slack = 0.5 // seconds
	shown, last := "", 0.0
	for {
		_, message, err := link.Read(ctx)
		if err != nil {
			return "", err
		}
		var e liveEvent
		if err := json.Unmarshal(message, &e); err != nil {
			return "", fmt.Errorf("an event is not JSON: %q", brief(string(message)))
		}
		switch e.Type {
		case "conversation.item.input_audio_transcription.delta":
			shown += e.Delta
		case "conversation.item.input_audio_transcription.segment":
			if e.Start < last || e.End < e.Start || e.End > clipSeconds+slack {
				return "", fmt.Errorf("a segment lies from %.2f to %.2f s, after %.2f: the clip has %.2f s", e.Start,
					e.End, last, float64(clipSeconds))
			}
			last = e.Start
		case "conversation.item.input_audio_transcription.completed":
			if shown != "" && shown != e.Transcript {
				return "", fmt.Errorf("the deltas are %q, the transcript is %q", brief(shown), brief(e.Transcript))
			}
			return e.Transcript, nil
		case "error", "conversation.item.input_audio_transcription.failed":
			return "", fmt.Errorf("%s", brief(string(message)))
		}
	}
}
