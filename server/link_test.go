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
