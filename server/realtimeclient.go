package server

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"hark/live"
)

// clientEvent is what a client may say, as far as it is read.
type clientEvent struct {
	Type    string          `json:"type"`
	EventID string          `json:"event_id"`
	Audio   *string         `json:"audio"`
	Session json.RawMessage `json:"session"`
}

// The events that clients send.
const (
	updateEvent     = "session.update"
	betaUpdateEvent = "transcription_session.update"
	appendEvent     = "input_audio_buffer.append"
	commitEvent     = "input_audio_buffer.commit"
	clearEvent      = "input_audio_buffer.clear"
)

// hear takes a text message. What is wrong with it is told, and the session lives on;
// the error that comes back ends it.
func (l *liveLink) hear(message []byte) error {
	var e clientEvent
	if err := json.Unmarshal(message, &e); err != nil {
		l.refuse(&apiError{status: 400, code: "invalid_json",
			message: "the message is not an event: want a JSON object with a type"}, "")
		return nil
	}
	err := l.do(&e)
	if errors.Is(err, live.ErrAhead) {
		return err
	}
	if err != nil {
		l.refuse(explain(err), e.EventID)
	}
	return nil
}

// do does what an event asks for.
func (l *liveLink) do(e *clientEvent) error {
	switch e.Type {
	case updateEvent, betaUpdateEvent:
		return l.update(e)
	case appendEvent:
		if e.Audio == nil {
			return badField("audio", "missing_required_parameter", "the event has no audio: send it as Base64")
		}
		sound, err := decodeBase64(*e.Audio)
		if err != nil {
			return badField("audio", "invalid_value", "the audio is not Base64")
		}
		return l.session.Append(sound)
	case commitEvent:
		err := l.session.Commit()
		if errors.Is(err, live.ErrNothing) {
			return badField("", "input_audio_buffer_commit_empty",
				"there is nothing to commit: no sound came since the last item, or no speech where turns are found")
		}
		return err
	case clearEvent:
		l.session.Clear()
		return nil
	case "":
		return badField("type", "missing_required_parameter", "the event has no type")
	}
	known := []string{updateEvent, betaUpdateEvent, appendEvent, commitEvent, clearEvent}
	return badField("type", "invalid_value", "the event's type is %s, which this server does not know: want %s",
		quoted(e.Type), strings.Join(known, ", "))
}

// decodeBase64 takes both alphabets, with padding and without.
func decodeBase64(text string) ([]byte, error) {
	text = strings.TrimRight(text, "=")
	if strings.ContainsAny(text, "-_") {
		return base64.RawURLEncoding.DecodeString(text)
	}
	return base64.RawStdEncoding.DecodeString(text)
}

// update changes the session's settings. Either all that an event says holds, or nothing.
func (l *liveLink) update(e *clientEvent) error {
	if len(e.Session) == 0 {
		return badField("session", "missing_required_parameter", "the event has no session")
	}
	next := l.settings.clone()
	warnings, err := next.update(e.Session)
	if err != nil {
		return err
	}
	settings, err := l.server.liveSession(next)
	if err != nil {
		return err
	}
	if err := l.session.Update(settings); err != nil {
		return err
	}
	l.settings = next
	l.warm(settings)
	if e.Type == betaUpdateEvent {
		l.beta.Store(true)
		l.saySession("transcription_session.updated", warnings)
	} else {
		l.saySession("session.updated", warnings)
	}
	return nil
}
