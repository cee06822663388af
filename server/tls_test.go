package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHTTP2: what holds over plain links holds over TLS, HTTP/2 and 1.1.
func TestHTTP2(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.MaxUploadBytes = 100_000 })
	for _, proto := range []string{"HTTP/2.0", "HTTP/1.1"} {
		t.Run(proto, func(t *testing.T) {
			link := httptest.NewUnstartedServer(ts.Handler())
			link.EnableHTTP2 = proto == "HTTP/2.0"
			link.Config.ConnContext = withLink
			link.StartTLS()
			defer link.Close()
			send := func(ctx context.Context, body io.Reader) (*http.Response, string, error) {
				r, err := http.NewRequestWithContext(ctx, "POST", link.URL+"/v1/transcribe?response_format=text", body)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := link.Client().Do(r)
				if err != nil {
					return nil, "", err
				}
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				return resp, string(text), err
			}
			// Good ones, and between them ones that are refused before and while their bodies are read.
			for _, body := range []io.Reader{
				bytes.NewReader(speechWAV(1, 1)),
				bytes.NewReader(make([]byte, 8<<20)),
				io.MultiReader(bytes.NewReader(make([]byte, 8<<20))),
				bytes.NewReader(speechWAV(1, 1)),
			} {
				small, ok := body.(*bytes.Reader)
				ok = ok && small.Len() < 100_000
				resp, text, err := send(context.Background(), body)
				if err != nil {
					t.Fatal(err)
				}
				if resp.Proto != proto || ok != (resp.StatusCode == 200) || ok != strings.HasPrefix(text, "heard ") || !ok && resp.StatusCode != 413 {
					t.Errorf("got %s %d %s", resp.Proto, resp.StatusCode, text)
				}
			}
			// A client that hangs up ends its work.
			ts.model.set(func(m *fakeModel) { m.hold = make(chan struct{}) })
			defer ts.model.set(func(m *fakeModel) { m.hold = nil })
			ctx, hangUp := context.WithCancel(context.Background())
			begun := ts.model.batches.Load()
			go func() { // not before its body is whole: a body that stops early is another matter
				eventually(t, "it runs", func() bool { return ts.model.batches.Load() > begun })
				hangUp()
			}()
			if _, _, err := send(ctx, bytes.NewReader(speechWAV(1, 2))); err == nil {
				t.Error("got an answer")
			}
			eventually(t, "nothing is under way", func() bool { return ts.pending.Load() == 0 })
		})
	}
	eventually(t, "both hang-ups are counted", func() bool { return strings.HasSuffix(ts.metric(t, "hark_cancellations_total"), " 2") })
}
