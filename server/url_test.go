package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"hark/fetch"
)

// TestURL sends URLs to the calls that answer at once.
func TestURL(t *testing.T) {
	clip := speechWAV(2, 1)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a.wav":
			w.Header().Set("Content-Type", "text/html") // which nobody believes
			w.Write(clip)
		case "/large":
			w.Write(make([]byte, 2<<20))
		case "/broken":
			http.Error(w, "no", http.StatusBadGateway)
		case "/away":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		case "/empty":
		default:
			http.NotFound(w, r)
		}
	}))
	defer files.Close()
	ts := newTestServer(t, func(c *Config) { c.FetchPrivate, c.MaxUploadBytes = true, 1<<20 })
	want := ts.transcribe(t, clip).json(t)["text"]
	for name, a := range map[string]*answer{
		"form":           ts.post(t, "/v1/audio/transcriptions", nil, "model", "fake", "url", files.URL+"/a.wav"),
		"json":           ts.request(t, "POST", "/v1/audio/transcriptions", "application/json", strings.NewReader(`{"model":"fake","url":"`+files.URL+`/a.wav"}`)),
		"plain form":     ts.request(t, "POST", "/v1/audio/transcriptions", "application/x-www-form-urlencoded", strings.NewReader("model=fake&url="+files.URL+"/a.wav")),
		"query":          ts.request(t, "POST", "/v1/transcribe?url="+files.URL+"/a.wav", "", nil),
		"own plain form": ts.request(t, "POST", "/v1/transcribe", "application/x-www-form-urlencoded", strings.NewReader("url="+files.URL+"/a.wav")),
	} {
		if a.status != 200 || a.json(t)["text"] != want {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := ts.post(t, "/v1/explain", nil, "url", files.URL+"/a.wav"); a.status != 200 || a.json(t)["duration_s"] != 2.0 {
		t.Errorf("explain: %d %s", a.status, a.body)
	}
	for _, c := range []struct {
		url    string
		status int
		code   string
		param  string
	}{
		{files.URL + "/large", 413, "file_too_large", "url"},
		{files.URL + "/broken", 502, "url_unreadable", "url"},
		{files.URL + "/none", 400, "url_unreadable", "url"},
		{files.URL + "/away", 400, "url_refused", "url"},
		{files.URL + "/empty", 400, "empty_audio", "file"},
		{"file:///etc/passwd", 400, "url_refused", "url"},
		{"http://127.0.0.1:1/", 502, "url_unreadable", "url"},
	} {
		ts.post(t, "/v1/transcribe", nil, "url", c.url).wantError(t, c.status, c.code, c.param)
	}
	strict := newTestServer(t, nil)
	a := strict.post(t, "/v1/transcribe", nil, "url", files.URL+"/a.wav")
	a.wantError(t, 400, "url_refused", "url")
	for body, contentType := range map[string]string{"{": "application/json", "[1]": "application/json", `{"a":{"b":{"c":1}}}`: "application/json"} {
		if a := strict.request(t, "POST", "/v1/audio/transcriptions", contentType, strings.NewReader(body)); a.status != 400 {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}

// TestUnknownHost: a name without an address is the caller's mistake, which clients don't
// try again; a resolver that fails is not.
func TestUnknownHost(t *testing.T) {
	ts := newTestServer(t, nil)
	for missing, status := range map[bool]int{true: 400, false: 502} {
		ts.fetcher = fetch.New(fetch.Config{Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: missing}
		}})
		ts.post(t, "/v1/transcribe", nil, "url", "http://nobody.example/a.wav").wantError(t, status, "url_unreadable", "url")
	}
}

// TestURLRebinds: a name that leads elsewhere when it's called is refused then.
func TestURLRebinds(t *testing.T) {
	ts := newTestServer(t, nil)
	lookups := 0
	ts.fetcher = fetch.New(fetch.Config{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		if lookups++; lookups == 1 {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}})
	ts.post(t, "/v1/transcribe", nil, "url", ts.url+"/a.wav").wantError(t, 400, "url_refused", "url")
	lookups = 0
	ts.post(t, "/v1/transcribe", nil, "url", "http://rebinds.example/a.wav").wantError(t, 400, "url_refused", "url")
	if lookups != 2 {
		t.Errorf("%d lookups, want the second to be refused", lookups)
	}
}
