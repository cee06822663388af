package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

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
