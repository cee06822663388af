package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
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
