package server

import (
	"strings"
	"testing"
)

func TestPreflight(t *testing.T) {
	ask := func(ts *testServer, origin string) *answer {
		return ts.with(t, "OPTIONS", "/v1/audio/transcriptions", nil, "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type,x-stainless-lang", "Access-Control-Request-Private-Network", "true")
	}
	open := newTestServer(t, nil)
	keys := newTestServer(t, withKeys(t, ""))
	named := newTestServer(t, func(c *Config) {
		withKeys(t, "")(c)
		c.CORSOrigins = []string{"https://app.example.org", "http://other.example:8000"}
	})
	any := newTestServer(t, func(c *Config) { c.CORSOrigins = []string{"*"} })
	for _, c := range []struct {
		name    string
		ts      *testServer
		origin  string
		allowed bool
	}{
		{"without keys, this machine", open, "http://localhost:3000", true},
		{"without keys, this machine by address", open, "http://127.0.0.1:5173", true},
		{"without keys, this machine by IPv6", open, "http://[::1]", true},
		{"without keys, elsewhere", open, "https://example.org", false},
		{"without keys, localhost elsewhere", open, "https://localhost.example.org", false},
		{"without keys, a file", open, "null", false},
		{"with keys", keys, "http://localhost:3000", false},
		{"named", named, "https://app.example.org", true},
		{"named, in capitals", named, "https://APP.example.org", true},
		{"named, the second", named, "http://other.example:8000", true},
		{"not named", named, "http://app.example.org", false},
		{"any", any, "https://example.org", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ask(c.ts, c.origin)
			if !c.allowed {
				a.wantError(t, 405, "method_not_allowed", "")
				for name := range a.header {
					if strings.HasPrefix(name, "Access-Control") {
						t.Errorf("got %s", name)
					}
				}
				return
			}
			if a.status != 204 || a.body != "" || a.header.Get("Access-Control-Allow-Origin") != c.origin || a.header.Get("Vary") != "Origin" {
				t.Errorf("got %d %v", a.status, a.header)
			}
			for name, want := range map[string]string{
				"Access-Control-Allow-Methods":         "POST",
				"Access-Control-Allow-Headers":         "authorization,content-type,x-stainless-lang",
				"Access-Control-Max-Age":               "7200",
				"Access-Control-Allow-Private-Network": "true",
			} {
				if got := a.header.Get(name); !strings.Contains(got, want) {
					t.Errorf("%s is %q, want %q in it", name, got, want)
				}
			}
		})
	}
}

// TestCrossOrigin: a page gets to see answers, refusals too, and their headers.
func TestCrossOrigin(t *testing.T) {
	ts := newTestServer(t, func(c *Config) {
		withKeys(t, "")(c)
		c.CORSOrigins = []string{"https://example.org"}
	})
	for path, status := range map[string]int{"/healthz": 200, "/v1/models": 401} {
		a := ts.with(t, "GET", path, nil, "Origin", "https://example.org")
		if a.status != status || a.header.Get("Access-Control-Allow-Origin") != "https://example.org" ||
			!strings.Contains(a.header.Get("Access-Control-Expose-Headers"), "x-request-id") {
			t.Errorf("%s: got %d %v", path, a.status, a.header)
		}
	}
	// Without an origin, or from another one, nothing is allowed, and a cache knows that it depends on it.
	for _, origin := range []string{"", "https://example.com"} {
		a := ts.with(t, "GET", "/healthz", nil, "Origin", origin)
		if a.status != 200 || a.header.Get("Access-Control-Allow-Origin") != "" || a.header.Get("Vary") != "Origin" {
			t.Errorf("origin %q: got %d %v", origin, a.status, a.header)
		}
	}
}

func TestCheckOrigin(t *testing.T) {
	for origin, ok := range map[string]bool{
		"*": true, "https://example.org": true, "http://localhost:3000": true, "app://obsidian.md": true,
		"": false, "example.org": false, "https://example.org/": false, "https://example.org/a": false, "https://*": false, "http://a b": false,
	} {
		if err := (Config{Models: []string{"a"}, CORSOrigins: []string{origin}}).Validate(); (err == nil) != ok {
			t.Errorf("%q: got %v", origin, err)
		}
	}
}
