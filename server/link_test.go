package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// dial opens a bare link to the server, for what http.Client can't say.
func dial(t *testing.T, ts *testServer) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(ts.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, bufio.NewReader(conn)
}

// readAnswer reads the next response of a link.
func readAnswer(t *testing.T, r *bufio.Reader) *answer {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Close {
		resp.Header.Set("Connection", "close") // which ReadResponse takes out
	}
	return &answer{resp.StatusCode, resp.Header, string(body)}
}

func TestExpectContinue(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.MaxUploadBytes = 100_000 })
	conn, r := dial(t, ts)
	// What is refused by its length is refused instead of asked for.
	fmt.Fprintf(conn, "POST /v1/transcribe HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\nExpect: 100-continue\r\n\r\n")
	readAnswer(t, r).wantError(t, 413, "file_too_large", "file")

	conn, r = dial(t, ts)
	clip := speechWAV(1, 1)
	fmt.Fprintf(conn, "POST /v1/transcribe HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(clip))
	if a := readAnswer(t, r); a.status != 100 {
		t.Fatalf("status %d, want 100", a.status)
	}
	conn.Write(clip)
	if a := readAnswer(t, r); a.status != 200 {
		t.Errorf("status %d: %s", a.status, a.body)
	}
}

// TestLinkIsKept sends a good request, refused ones whose bodies were read, and a good one again over one link.
func TestLinkIsKept(t *testing.T) {
	ts := newTestServer(t, nil)
	conn, r := dial(t, ts)
	clip := speechWAV(1, 1)
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/v1/transcribe", string(clip), 200},
		{"/v1/transcribe?language=xx", string(clip), 400},
		{"/v1/transcribe", "no audio at all, just words in a row", 415},
		{"/v1/transcribe", "", 400},
		{"/v1/transcribe?response_format=text", string(clip), 200},
	} {
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", c.path, len(c.body), c.body)
		a := readAnswer(t, r)
		if a.status != c.status || a.header.Get("Connection") == "close" {
			t.Fatalf("%s: status %d, want %d, on a link that stays: %v", c.path, a.status, c.status, a.header)
		}
	}
	// Chunked, and with something behind the form's end.
	contentType, form := form(clip, "model", "fake")
	form = append(form, "epilogue"...)
	fmt.Fprintf(conn, "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
		contentType, len(form), form)
	if a := readAnswer(t, r); a.status != 200 || a.header.Get("Connection") == "close" {
		t.Fatalf("chunked: status %d: %s", a.status, a.body)
	}
	fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	if a := readAnswer(t, r); a.status != 200 {
		t.Errorf("after it all: status %d", a.status)
	}
}

// TestEarlyRefusalIsRead sends more than a link's buffers hold before it looks for the answer.
func TestEarlyRefusalIsRead(t *testing.T) {
	ts := newTestServer(t, func(c *Config) { c.MaxUploadBytes = 100_000 })
	conn, r := dial(t, ts)
	const size = 30 << 20
	fmt.Fprintf(conn, "POST /v1/transcribe HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size)
	chunk := make([]byte, 1<<20)
	for sent := 0; sent < size; sent += len(chunk) {
		if _, err := conn.Write(chunk); err != nil {
			t.Fatalf("after %d bytes: %v", sent, err)
		}
	}
	a := readAnswer(t, r)
	a.wantError(t, 413, "file_too_large", "file")
	if a.header.Get("Connection") != "close" {
		t.Error("the answer doesn't say that the link closes")
	}
}

// halfClosed sends a whole request and closes that half of the link.
func halfClosed(t *testing.T, ts *testServer, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, r := dial(t, ts)
	io.WriteString(conn, request)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	return conn, r
}

// TestWrongBodyOnHalfClosedLink: what is wrong with a body is told to a client that sends no more,
// and is what the log and the metrics say.
func TestWrongBodyOnHalfClosedLink(t *testing.T) {
	clip := string(speechWAV(1, 1))
	contentType, whole := form([]byte(clip), "model", "fake")
	cut := string(whole[:10_000])
	head := func(path, more string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: " + contentType + "\r\n" + more + "\r\n\r\n"
	}
	length := func(n int) string { return fmt.Sprintf("Content-Length: %d", n) }
	const openAI, chunked = "/v1/audio/transcriptions", "Transfer-Encoding: chunked"
	for _, c := range []struct{ name, request, code, param string }{
		{"form", head(openAI, length(len(whole))) + cut, "malformed_body", ""},
		{"bare", "POST /v1/transcribe HTTP/1.1\r\nHost: x\r\n" + length(len(clip)) + "\r\n\r\n" + clip[:10_000], "malformed_body", ""},
		{"no body", head(openAI, length(len(whole))), "malformed_body", ""},
		{"inside a chunk", head(openAI, chunked) + fmt.Sprintf("%x\r\n%s", len(whole), cut), "malformed_body", ""},
		{"between chunks", head(openAI, chunked) + fmt.Sprintf("%x\r\n%s\r\n", len(cut), cut), "malformed_body", ""},
		{"before the last line", head(openAI, chunked) + fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(cut), cut), "malformed_body", ""},
		{"after the form's end", head(openAI, length(len(whole)+10)) + string(whole), "malformed_body", ""},
		{"form without an end", head(openAI, length(len(cut))) + cut, "malformed_body", ""},
		{"unknown language", "POST /v1/transcribe?language=xx HTTP/1.1\r\nHost: x\r\n" + length(len(clip)) + "\r\n\r\n" + clip, "invalid_language", "language"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ts := newTestServer(t, func(c *Config) { c.SpoolThreshold = 100 })
			_, r := halfClosed(t, ts, c.request)
			readAnswer(t, r).wantError(t, 400, c.code, c.param)
			eventually(t, "the log tells", func() bool { return strings.Contains(ts.log.String(), `"status":400`) })
			if got := ts.metric(t, `hark_rejections_total{code="`+c.code+`"}`); !strings.HasSuffix(got, " 1") {
				t.Errorf("metric %q", got)
			}
			if got := ts.metric(t, "hark_cancellations_total"); !strings.HasSuffix(got, " 0") {
				t.Errorf("metric %q", got)
			}
			wantEmpty(t, ts.cfg.SpoolDir)
		})
	}
}

// TestGoneIsAborted: a client that is gone, or can't be told from one, gets no answer,
// so that the link says what the log does.
func TestGoneIsAborted(t *testing.T) {
	ts := newTestServer(t, nil)
	ts.model.set(func(m *fakeModel) { m.hold = make(chan struct{}) })
	clip := string(speechWAV(1, 1))
	head := fmt.Sprintf("POST /v1/transcribe HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(clip))
	_, r := halfClosed(t, ts, head+clip)
	if got, err := io.ReadAll(r); len(got) > 0 || err != nil {
		t.Errorf("half-closed while it waits: got %q, %v, want the end of the link", got, err)
	}

	conn, _ := dial(t, ts)
	io.WriteString(conn, head+clip[:10_000])
	eventually(t, "it sends", func() bool { return ts.pending.Load() == 1 })
	conn.(*net.TCPConn).SetLinger(0) // so that closing resets the link
	conn.Close()

	eventually(t, "the log tells of both", func() bool { return strings.Count(ts.log.String(), `"status":499`) == 2 })
	for metric, want := range map[string]string{
		`hark_cancellations_total`:                                      " 2",
		`hark_http_requests_total{method="POST",route="/v1/transcribe"`: `status="499"} 2`,
		`hark_panics_total`:                                             " 0",
	} {
		if got := ts.metric(t, metric); !strings.HasSuffix(got, want) {
			t.Errorf("metric %q, want %q", got, want)
		}
	}
	if strings.Contains(ts.log.String(), "panic") {
		t.Errorf("a panic is logged: %s", ts.log.String())
	}
}

// TestHalfClosedLinkIsAnswered: a client that has sent all and says so still gets its answer, over HTTP/1.1.
func TestHalfClosedLinkIsAnswered(t *testing.T) {
	if !canTellReset {
		t.Skip("a closed link can't be told from a half-closed one on this system")
	}
	ts, _, _ := serveHere(t, func(*Config) {})
	hold := make(chan struct{})
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	clip := string(speechWAV(1, 1))
	head := fmt.Sprintf("POST /v1/transcribe HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(clip))
	before := ts.model.batches.Load()
	_, r := halfClosed(t, ts, head+clip)
	eventually(t, "it runs", func() bool { return ts.model.batches.Load() > before })
	if a := readAnswer(t, r); a.status != 100 {
		t.Fatalf("status %d, want what is sent to see whether the link is there", a.status)
	}
	close(hold)
	if a := readAnswer(t, r); a.status != 200 || !strings.Contains(a.body, "heard ") {
		t.Errorf("status %d: %s", a.status, a.body)
	}

	// One that closes the whole link is gone, and so is one that speaks HTTP/1.0.
	ts.model.set(func(m *fakeModel) { m.hold = make(chan struct{}) })
	conn, _ := dial(t, ts)
	before = ts.model.batches.Load()
	io.WriteString(conn, head+clip)
	eventually(t, "it runs", func() bool { return ts.model.batches.Load() > before })
	conn.Close()
	eventually(t, "the log tells", func() bool { return strings.Count(ts.log.String(), `"status":499`) == 1 })
	_, r = halfClosed(t, ts, strings.Replace(head, "1.1", "1.0", 1)+clip)
	if got, err := io.ReadAll(r); len(got) > 0 || err != nil {
		t.Errorf("HTTP/1.0: got %q, %v, want the end of the link", got, err)
	}
}
