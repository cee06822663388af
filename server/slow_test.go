package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// listen serves a handler on a link of its own, with the server's limits.
func (ts *testServer) listen(t *testing.T, h http.Handler, change func(*http.Server)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hs := ts.HTTPServer()
	hs.Handler = h
	if change != nil {
		change(hs)
	}
	go hs.Serve(l)
	t.Cleanup(func() { hs.Close() })
	return l.Addr().String()
}

// unaffected checks that others are served.
func (ts *testServer) unaffected(t *testing.T) {
	t.Helper()
	if a := ts.transcribe(t, speechWAV(1, 1)); a.status != 200 {
		t.Errorf("another caller: status %d: %s", a.status, a.body)
	}
}

// TestSlowHeader: a header that never ends is ended.
func TestSlowHeader(t *testing.T) {
	ts := newTestServer(t, nil)
	if d := ts.HTTPServer().ReadHeaderTimeout; d <= 0 || d > 10*time.Second {
		t.Errorf("a header may take %v", d)
	}
	addr := ts.listen(t, ts.Handler(), func(hs *http.Server) { hs.ReadHeaderTimeout = 200 * time.Millisecond })
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n")
	go func() {
		for i := range 1000 { // a header a time, until the link is closed
			if _, err := fmt.Fprintf(conn, "X-%d: y\r\n", i); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	ts.unaffected(t)
	conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the link is still open")
	}
}

// TestSlowBody: a body that comes by single bytes never stands still for long, and is ended all the same.
func TestSlowBody(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.UploadIdleTimeout, c.MaxPending = 300*time.Millisecond, 2 })
	conn, r := dial(t, ts)
	fmt.Fprintf(conn, "POST /v1/transcribe HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
	go func() {
		for range 1000 {
			if _, err := conn.Write([]byte("R")); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	eventually(t, "it is read", func() bool { return ts.pending.Load() == 1 })
	ts.cfg.UploadIdleTimeout = patience // of those that come now
	ts.unaffected(t)
	conn.SetReadDeadline(time.Now().Add(patience))
	readAnswer(t, r).wantError(t, 408, "upload_timeout", "")
}

// bareLink is a link without a network: its reads take their time, and fail once it's past the deadline.
type bareLink struct {
	http.ResponseWriter
	until time.Time
	takes time.Duration // for each byte to come
}

func (l *bareLink) SetReadDeadline(until time.Time) error {
	l.until = until
	return nil
}

func (l *bareLink) Read(p []byte) (int, error) {
	time.Sleep(l.takes)
	if time.Now().After(l.until) {
		return 0, os.ErrDeadlineExceeded
	}
	return copy(p, "x"), nil
}

// TestOwnDelay: what the server itself takes between two reads is not put down to the client, what the client takes is.
func TestOwnDelay(t *testing.T) {
	for _, c := range []struct {
		name           string
		client, server time.Duration // of each byte
		idle           time.Duration
		tooSlow        bool
	}{
		{"slow server", 0, 30 * time.Millisecond, 50 * time.Millisecond, false},
		{"slow client", 30 * time.Millisecond, 0, 50 * time.Millisecond, true},
		{"both, fast enough", 5 * time.Millisecond, 300 * time.Millisecond, 50 * time.Millisecond, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				link := &bareLink{takes: c.client}
				s := &Server{cfg: Config{UploadIdleTimeout: c.idle, UploadTimeout: time.Hour}}
				b := s.newBody(link, &http.Request{Body: io.NopCloser(link), ContentLength: 100})
				var err error
				for range 20 {
					if _, err = b.Read(make([]byte, 1)); err != nil {
						break
					}
					time.Sleep(c.server)
				}
				if errors.Is(err, os.ErrDeadlineExceeded) != c.tooSlow {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

// TestSlowReader: a client that takes its answer by single bytes is ended, and holds nobody up meanwhile.
func TestSlowReader(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.WriteTimeout = 300 * time.Millisecond })
	ended := make(chan struct{})
	big := make([]byte, 64<<20) // more than any link's buffers hold
	addr := ts.listen(t, ts.observe(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		ts.write(w, http.StatusOK, "text/plain", big)
	})), nil)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	ts.unaffected(t)
	r := bufio.NewReaderSize(conn, 16)
	for waiting := true; waiting; {
		if _, err := r.ReadByte(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
			waiting = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	conn.SetReadDeadline(time.Now().Add(patience))
	n, err := io.Copy(io.Discard, r)
	if n >= int64(len(big)) || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %d bytes, %v: want a link that was closed before the end", n, err)
	}
	if !strings.Contains(ts.log.String(), `"route":"none","status":200`) {
		t.Errorf("the log has %s", ts.log.String())
	}
}
