package server

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"hark/engine"
	"hark/live"
)

// wireEvent is what all events of the server have.
type wireEvent struct {
	EventID string `json:"event_id"`
	Type    string `json:"type"`
}

func newEvent(kind string) wireEvent {
	return wireEvent{"event_" + strings.ToLower(rand.Text()), kind}
}

// inAudio is the type of the events about an item's text.
const inAudio = "conversation.item.input_audio_transcription."

type (
	sessionEvent struct {
		wireEvent
		Session *wireSession `json:"session"`
		// Hark is there where something of the client's was ignored.
		Hark *wireIgnored `json:"hark,omitempty"`
	}

	wireIgnored struct {
		Warnings []string `json:"warnings"`
	}

	errorEvent struct {
		wireEvent
		Error eventError `json:"error"`
	}

	eventError struct {
		Type    string  `json:"type"`
		Code    *string `json:"code"`
		Message string  `json:"message"`
		Param   *string `json:"param"`
		// EventID is of the client's event that is at fault; failed items have none.
		EventID *string `json:"event_id,omitempty"`
	}

	startedEvent struct {
		wireEvent
		At   int64  `json:"audio_start_ms"`
		Item string `json:"item_id"`
	}

	stoppedEvent struct {
		wireEvent
		At   int64  `json:"audio_end_ms"`
		Item string `json:"item_id"`
	}

	committedEvent struct {
		wireEvent
		Previous *string `json:"previous_item_id"`
		Item     string  `json:"item_id"`
	}

	itemEvent struct {
		wireEvent
		Previous *string  `json:"previous_item_id"`
		Item     wireItem `json:"item"`
	}

	wireItem struct {
		ID      string        `json:"id"`
		Object  string        `json:"object"`
		Type    string        `json:"type"`
		Status  string        `json:"status"`
		Role    string        `json:"role"`
		Content []wireContent `json:"content"`
	}

	wireContent struct {
		Type       string  `json:"type"`
		Transcript *string `json:"transcript"`
	}

	// textEvent is what all events about an item's text have.
	textEvent struct {
		wireEvent
		Item    string `json:"item_id"`
		Content int    `json:"content_index"`
	}

	deltaEvent struct {
		textEvent
		Delta string `json:"delta"`
	}

	segmentEvent struct {
		textEvent
		ID      string  `json:"id"`
		Text    string  `json:"text"`
		Speaker string  `json:"speaker"`
		Start   float64 `json:"start"` // seconds from the session's first sound
		End     float64 `json:"end"`
	}

	completedEvent struct {
		textEvent
		Transcript string         `json:"transcript"`
		Languages  []wireLanguage `json:"languages,omitempty"`
		Logprobs   []wireLogprob  `json:"logprobs,omitempty"`
		Usage      wireLiveUsage  `json:"usage"`
	}

	wireLanguage struct {
		Code string `json:"code"`
	}

	wireLogprob struct {
		Token   string  `json:"token"`
		Logprob float64 `json:"logprob"`
		Bytes   []int   `json:"bytes"`
	}

	wireLiveUsage struct {
		Type    string  `json:"type"`
		Seconds float64 `json:"seconds"`
	}

	failedEvent struct {
		textEvent
		Error eventError `json:"error"`
	}
)

// wireEvents are the events of the API that an event of a session becomes.
func wireEvents(e live.Event, beta bool) []any {
	text := func(kind, item string) textEvent { return textEvent{newEvent(inAudio + kind), item, 0} }
	switch e := e.(type) {
	case live.SpeechStarted:
		return []any{startedEvent{newEvent("input_audio_buffer.speech_started"), e.At.Milliseconds(), e.Item}}
	case live.SpeechStopped:
		return []any{stoppedEvent{newEvent("input_audio_buffer.speech_stopped"), e.At.Milliseconds(), e.Item}}
	case live.Committed:
		return committedEvents(e, beta)
	case live.Cleared:
		return []any{newEvent("input_audio_buffer.cleared")}
	case live.Delta:
		return []any{deltaEvent{text("delta", e.Item), e.Text}}
	case live.Segment:
		return []any{segmentEvent{
			textEvent: text("segment", e.Item), ID: fmt.Sprintf("seg_%03d", e.Number+1), Text: e.Text,
			Start: toMillis(e.Start), End: toMillis(e.End),
		}}
	case live.Completed:
		done := completedEvent{
			textEvent: text("completed", e.Item), Transcript: e.Text, Logprobs: tokenLogprobs(e.Spelling),
			Usage: wireLiveUsage{"duration", toMillis(e.Seconds)},
		}
		if e.Language != "" {
			done.Languages = []wireLanguage{{e.Language}}
		}
		return []any{done}
	case live.Failed:
		return []any{failedEvent{text("failed", e.Item), newEventError(explain(e.Err), "")}}
	}
	return nil
}

// committedEvents tell that an item was made. Beta had one event for it where there are two now.
func committedEvents(e live.Committed, beta bool) []any {
	previous := nullable(e.Previous)
	item := wireItem{
		ID: e.Item, Object: "realtime.item", Type: "message", Status: "completed", Role: "user",
		Content: []wireContent{{Type: "input_audio"}},
	}
	events := []any{committedEvent{newEvent("input_audio_buffer.committed"), previous, e.Item}}
	if beta {
		return append(events, itemEvent{newEvent("conversation.item.created"), previous, item})
	}
	return append(events, itemEvent{newEvent("conversation.item.added"), previous, item},
		itemEvent{newEvent("conversation.item.done"), previous, item})
}

// newEventError is an error as events have it, about the client's event of that id, if it has one.
func newEventError(e *apiError, id string) eventError {
	return eventError{Type: e.kind(), Code: nullable(e.code), Message: e.message,
		Param: nullable(e.param), EventID: nullable(id)}
}

// tokenLogprobs gives how sure a model was of each token. One that is not whole characters is shown as its bytes say.
func tokenLogprobs(tokens []engine.Token) (out []wireLogprob) {
	for _, t := range tokens {
		l := wireLogprob{Token: string(t.Bytes), Logprob: float64(t.LogProb)}
		for _, b := range t.Bytes {
			l.Bytes = append(l.Bytes, int(b))
		}
		out = append(out, l)
	}
	return out
}

// toMillis rounds seconds.
func toMillis(seconds float64) float64 {
	return float64(time.Duration(seconds*float64(time.Second)).Round(time.Millisecond)) / float64(time.Second)
}
