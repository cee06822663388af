package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// at is a server, called under any name, and a Fetcher that may call it.
func at(t *testing.T, cfg Config, handler http.HandlerFunc) (*Fetcher, string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	cfg.AllowPrivate = true
	f := New(cfg)
	t.Cleanup(f.Close)
	return f, server.URL
}

func TestFetch(t *testing.T) {
	f, url := at(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("asks for Accept-Encoding %q", r.Header.Get("Accept-Encoding"))
		}
		io.WriteString(w, "the bytes")
	})
	var got bytes.Buffer
	file, err := f.Fetch(t.Context(), url+"/talks/one%20two.mp3?key=secret", &got)
	if err != nil || got.String() != "the bytes" || file != (File{"one two.mp3", 9}) {
		t.Errorf("got %q, %+v, %v", got.String(), file, err)
	}
}

func TestRedirects(t *testing.T) {
	f, url := at(t, Config{MaxRedirects: 3}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/3", "/2", "/1":
			http.Redirect(w, r, "/"+string(r.URL.Path[1]-1), http.StatusFound)
		case "/0":
			io.WriteString(w, "here")
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		}
	})
	var got bytes.Buffer
	if _, err := f.Fetch(t.Context(), url+"/3", &got); err != nil || got.String() != "here" {
		t.Errorf("three redirects: got %q, %v", got.String(), err)
	}
	var many *RedirectError
	if _, err := f.Fetch(t.Context(), url+"/round", io.Discard); !errors.As(err, &many) {
		t.Errorf("a circle: got %v, want a *RedirectError", err)
	}
	for _, path := range []string{"/file", "/metadata"} {
		var refused *RefusedError
		if _, err := f.Fetch(t.Context(), url+path, io.Discard); !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want a *RefusedError", path, err)
		}
	}
}

// A server in the open that sends its callers to a private address gets nowhere, whatever it calls it.
func TestRedirectToPrivate(t *testing.T) {
	var reached atomic.Bool
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer inner.Close()
	outer := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusTemporaryRedirect))
	defer outer.Close()

	f := New(Config{})
	defer f.Close()
	calls := 0
	f.client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if calls++; calls == 1 { // goes through, as if it were public
			return http.DefaultTransport.RoundTrip(r)
		}
		return f.transport.RoundTrip(r)
	})
	var refused *RefusedError
	if _, err := f.Fetch(t.Context(), outer.URL, io.Discard); !errors.As(err, &refused) || calls != 2 || reached.Load() {
		t.Errorf("got %v after %d calls, reached %v: want a *RefusedError at the second", err, calls, reached.Load())
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A name that resolves to a public address when it's checked and to this machine when it's called is refused then.
func TestRebinding(t *testing.T) {
	var reached atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer server.Close()
	lookups := 0
	f := New(Config{Lookup: func(context.Context, string) ([]netip.Addr, error) {
		if lookups++; lookups == 1 {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}})
	defer f.Close()
	url := strings.Replace(server.URL, "127.0.0.1", "rebinds.example", 1)
	if err := f.Check(t.Context(), url); err != nil {
		t.Fatalf("check: %v", err)
	}
	var refused *RefusedError
	if _, err := f.Fetch(t.Context(), url, io.Discard); !errors.As(err, &refused) || !refused.Private || reached.Load() {
		t.Errorf("got %v, reached %v: want a *RefusedError", err, reached.Load())
	}
	answer, err := f.Client().Post(url, "text/plain", strings.NewReader("x"))
	if err == nil {
		answer.Body.Close()
	}
	if !errors.As(err, &refused) || reached.Load() {
		t.Errorf("post: got %v, reached %v: want a *RefusedError", err, reached.Load())
	}
}

func TestCheck(t *testing.T) {
	lookup := func(_ context.Context, host string) ([]netip.Addr, error) {
		switch host {
		case "public.example":
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		case "both.example":
			return []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("10.0.0.1")}, nil
		case "localhost":
			return []netip.Addr{netip.MustParseAddr("::1")}, nil
		}
		return nil, errors.New("no such host")
	}
	for _, c := range []struct {
		url             string
		strict, private bool // whether it passes
	}{
		{"http://public.example/a.mp3", true, true},
		{"HTTPS://public.example:8443/a.mp3?b=c#d", true, true},
		{"http://unknown.example/", true, true}, // it's met when it's called
		{"http://both.example/", false, true},
		{"http://localhost/", false, true},
		{"http://127.0.0.1/", false, true},
		{"http://127.255.0.1:9/", false, true},
		{"http://[::1]/", false, true},
		{"http://[::ffff:127.0.0.1]/", false, true},
		{"http://10.1.2.3/", false, true},
		{"http://172.16.0.1/", false, true},
		{"http://172.32.0.1/", true, true},
		{"http://192.168.1.1/", false, true},
		{"http://100.64.0.1/", false, true},
		{"http://[fd12::1]/", false, true},
		{"http://[64:ff9b::10.0.0.1]/", false, true},
		{"http://[2002:7f00:1::]/", false, true},
		{"http://[2001:0:1:2:3:4:80ff:fffe]/", false, true}, // Teredo around 127.0.0.1
		{"http://169.254.169.254/latest/", false, false},
		{"http://[::ffff:169.254.169.254]/", false, false},
		{"http://[64:ff9b::169.254.169.254]/", false, false},
		{"http://[fe80::1]/", false, false},
		{"http://[fe80::1%25eth0]/", false, false},
		{"http://[fd00:ec2::254]/", false, false},
		{"http://168.63.129.16/", false, false},
		{"http://0.0.0.0/", false, false},
		{"http://[::]/", false, false},
		{"http://224.0.0.1/", false, false},
		{"http://255.255.255.255/", false, false},
		{"file:///etc/passwd", false, false},
		{"ftp://public.example/a", false, false},
		{"gopher://public.example/a", false, false},
		{"public.example/a", false, false},
		{"//public.example/a", false, false},
		{"http://", false, false},
		{"http:///a", false, false},
		{"http://a b/", false, false},
		{"http://%zz/", false, false},
		{"", false, false},
		{"http://public.example/" + strings.Repeat("a", maxURL), false, false},
	} {
		for _, allow := range []bool{false, true} {
			want := c.strict
			if allow {
				want = c.private
			}
			f := New(Config{AllowPrivate: allow, Lookup: lookup})
			err := f.Check(t.Context(), c.url)
			var refused *RefusedError
			if (err == nil) != want || err != nil && !errors.As(err, &refused) {
				t.Errorf("%.60q with private networks %v: got %v, want allowed %v", c.url, allow, err, want)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	hold := make(chan struct{})
	f, url := at(t, Config{MaxBytes: 10}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fits":
			io.WriteString(w, "0123456789")
		case "/said":
			w.Header().Set("Content-Length", "11")
			io.WriteString(w, "0123456789a")
		case "/unsaid":
			w.(http.Flusher).Flush()
			io.WriteString(w, strings.Repeat("0123456789", 1000))
		case "/silent":
			<-hold
		case "/stalls":
			io.WriteString(w, "0")
			w.(http.Flusher).Flush()
			<-hold
		case "/gone":
			http.Error(w, "gone", http.StatusGone)
		case "/breaks":
			w.Header().Set("Content-Length", "9")
			io.WriteString(w, "01")
		case "/zipped":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(make([]byte, 1<<20))
			z.Close()
		}
	})
	t.Cleanup(func() { close(hold) })
	hasty := New(Config{AllowPrivate: true, IdleTimeout: 200 * time.Millisecond})
	t.Cleanup(hasty.Close)
	var got bytes.Buffer
	if _, err := f.Fetch(t.Context(), url+"/fits", &got); err != nil || got.Len() != 10 {
		t.Errorf("what just fits: got %d bytes, %v", got.Len(), err)
	}
	if _, err := f.Limited(9).Fetch(t.Context(), url+"/fits", io.Discard); !isA[*SizeError](err) {
		t.Errorf("what just fits, where less is taken: got %v", err)
	}
	for path, is := range map[string]func(error) bool{
		"/said":   isA[*SizeError],
		"/unsaid": isA[*SizeError],
		"/zipped": isA[*SizeError],
		"/gone":   isA[*StatusError],
		"/breaks": isA[*NetworkError],
	} {
		got.Reset()
		_, err := f.Fetch(t.Context(), url+path, &got)
		if !is(err) || got.Len() > 10 {
			t.Errorf("%s: got %T %v and %d bytes", path, err, err, got.Len())
		}
		if err != nil && strings.Contains(err.Error(), "127.0.0.1") && !isA[*NetworkError](err) {
			t.Errorf("%s: the error repeats the URL: %v", path, err)
		}
	}
	for _, path := range []string{"/silent", "/stalls"} {
		var late *TimeError
		if _, err := hasty.Fetch(t.Context(), url+path, io.Discard); !errors.As(err, &late) || !late.Idle {
			t.Errorf("%s: got %v, want a *TimeError of a pause", path, err)
		}
	}
	own := errors.New("no room")
	if _, err := f.Fetch(t.Context(), url+"/fits", failing{own}); err != own {
		t.Errorf("a writer that fails: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Fetch(ctx, url+"/fits", io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that gave up: got %v", err)
	}
}

// What is fetched in all has its own bound, however steadily it comes.
func TestWholeTime(t *testing.T) {
	f, url := at(t, Config{Timeout: 300 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "drip "); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
	var late *TimeError
	if _, err := f.Fetch(t.Context(), url, io.Discard); !errors.As(err, &late) || late.Idle {
		t.Errorf("got %v, want a *TimeError of the whole", err)
	}
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }

// FuzzParse: what passes is a URL of http or https with a host, and passes again as it's written out.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"http://a.example/b?c#d", "https://[::1]:80/", "http://user:pass@h/", "//x", "http://%41/", "http://[fe80::1%25e]/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := Parse(raw)
		if err != nil {
			if !isA[*RefusedError](err) {
				t.Fatalf("%q: %T %v", raw, err, err)
			}
			return
		}
		again, err := Parse(u.String())
		if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || err != nil && len(u.String()) <= maxURL || err == nil && again.Host != u.Host {
			t.Fatalf("%q: %v, again %v %v", raw, u, again, err)
		}
	})
}
