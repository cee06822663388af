package server

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"hark/access"
)

// secret makes a client secret with a key, "" for none.
func (ts *testServer) secret(t *testing.T, key, body string) *answer {
	t.Helper()
	return ts.with(t, "POST", "/v1/realtime/client_secrets", strings.NewReader(body), "X-Api-Key", key, "Content-Type", "application/json")
}

func TestClientSecret(t *testing.T) {
	ts := newTestServer(t, withKeys(t, "rpm=1000"))
	d := readDocument(t, ts)
	a := ts.secret(t, aliceKey, `{"expires_after":{"anchor":"created_at","seconds":60},"more":1,
		"session":{"type":"transcription","audio":{"input":{"format":{"type":"audio/pcm","rate":16000},"turn_detection":null,"transcription":{"model":"whisper-1","language":"de"}}}}}`)
	d.check(t, "POST", "/v1/realtime/client_secrets", a)
	made := a.json(t)
	value, _ := made["value"].(string)
	if left := made["expires_at"].(float64) - float64(time.Now().Unix()); a.status != 200 || !strings.HasPrefix(value, "ek_") || left < 30 || left > 60 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if got := fmt.Sprint(made["hark"]); !strings.Contains(got, "more is ignored") || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %s, %v", got, a.header)
	}
	for name, o := range map[string]*websocket.DialOptions{
		"bearer":      {HTTPHeader: http.Header{"Authorization": {"Bearer " + value}}},
		"subprotocol": {Subprotocols: []string{"realtime", keyProtocol + value}},
	} {
		c := ts.openLive(t, "", o)
		session := c.await("session.created")["session"].(map[string]any)
		input := session["audio"].(map[string]any)["input"].(map[string]any)
		if got := fmt.Sprint(input["format"], input["turn_detection"], input["transcription"].(map[string]any)["language"]); got != "map[rate:16000 type:audio/pcm] <nil>de" {
			t.Errorf("%s: the session begins with %s", name, got)
		}
		c.conn.Close(websocket.StatusNormalClosure, "")
	}
	eventually(t, "its sessions are alice's", func() bool { return strings.Count(ts.log.String(), `"caller":"key:alice"`) >= 2 })
	if strings.Contains(ts.log.String(), value) {
		t.Error("the secret is in the log")
	}
	// It's for nothing else, and not for making another.
	ts.with(t, "GET", "/v1/models", nil, "X-Api-Key", value).wantError(t, 401, "invalid_api_key", "")
	ts.secret(t, value, "{}").wantError(t, 401, "invalid_api_key", "")
	ts.secret(t, "", "{}").wantError(t, 401, "invalid_api_key", "")
	ts.with(t, "GET", "/v1/realtime", nil, "X-Api-Key", "ek_nobody").wantError(t, 401, "invalid_api_key", "")

	if a := ts.secret(t, bobKey, ""); a.status != 200 {
		t.Errorf("an empty body: %d %s", a.status, a.body)
	}
	for body, param := range map[string]string{
		`{"expires_after":{"seconds":9}}`:          "expires_after.seconds",
		`{"expires_after":{"anchor":"tomorrow"}}`:  "expires_after.anchor",
		`{"session":{"type":"realtime"}}`:          "session.type",
		`{"session":1}`:                            "session",
		`[`:                                        "",
		`{"session":{"type":"transcription"},"a":`: "",
	} {
		a := ts.secret(t, bobKey, body)
		if d.check(t, "POST", "/v1/realtime/client_secrets", a); a.status != 400 || a.json(t)["error"].(map[string]any)["param"] != orNil(param) {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	ts.secret(t, bobKey, strings.Repeat(" ", maxSecretBytes+1)).wantError(t, 413, "body_too_large", "")
	ts.secret(t, bobKey, `{"session":{"audio":{"input":{"transcription":{"model":"nobody"}}}}}`).wantError(t, 404, "model_not_found", "model")
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// TestClientSecretEnds: with its time, and with the key of whoever made it.
func TestClientSecretEnds(t *testing.T) {
	ts := newTestServer(t, withKeys(t, ""))
	now := time.Now()
	for _, c := range []struct {
		secret access.Secret[*liveSettings]
		status int
	}{
		{access.Secret[*liveSettings]{Caller: "alice", Expires: now.Add(time.Hour), For: newLiveSettings()}, 426},
		{access.Secret[*liveSettings]{Caller: "alice", Expires: now, For: newLiveSettings()}, 401},
		{access.Secret[*liveSettings]{Caller: "carol", Expires: now.Add(time.Hour), For: newLiveSettings()}, 401},
	} {
		text, err := ts.secrets.New(c.secret, now)
		if err != nil {
			t.Fatal(err)
		}
		if a := ts.with(t, "GET", "/v1/realtime", nil, "X-Api-Key", text); a.status != c.status {
			t.Errorf("%+v: got %d, want %d", c.secret, a.status, c.status)
		}
	}
}

// TestClientSecretWithoutKeys: a server that is open to all makes them too, for pages
// that are written for OpenAI's API.
func TestClientSecretWithoutKeys(t *testing.T) {
	ts := newTestServer(t, nil)
	value := ts.secret(t, "", `{"session":{"audio":{"input":{"turn_detection":null}}}}`).json(t)["value"].(string)
	c := ts.openLive(t, "", &websocket.DialOptions{Subprotocols: []string{"realtime", keyProtocol + value}})
	session := c.await("session.created")["session"].(map[string]any)
	if got := session["audio"].(map[string]any)["input"].(map[string]any)["turn_detection"]; got != nil {
		t.Errorf("the session begins with %v", got)
	}
}

// FuzzClientSecret: a request makes a secret that is good, or an error that is the client's.
func FuzzClientSecret(f *testing.F) {
	for _, text := range []string{
		"", "{}", "null", "[]", `{"expires_after":{"anchor":"created_at","seconds":10.5},"session":{"type":"transcription"}}`,
		`{"session":{"audio":{"input":{"turn_detection":{"type":"server_vad"},"transcription":null}}}}`, `{"expires_after":null,"session":null,"a":{}}`,
	} {
		f.Add([]byte(text))
	}
	s := &Server{cfg: Config{Models: []string{"fake"}}}
	now := time.Now()
	f.Fuzz(func(t *testing.T, text []byte) {
		s.secrets = access.Secrets[*liveSettings]{}
		made, err := s.newSecret(text, nil, now)
		if err != nil {
			var e *apiError
			if !errors.As(err, &e) || e.status < 400 || e.status >= 500 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if secret := s.secrets.Find(made.Value, now); secret == nil || secret.Expires.Before(now.Add(minSecretSeconds*time.Second)) {
			t.Fatalf("%q makes %+v", text, secret)
		}
	})
}
