package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// soakCall is a request of a flood, which many may send.
type soakCall struct {
	fields []string
	header string // more lines of it
	file   []byte

	once        sync.Once
	contentType string
	head, whole []byte // whole is the head and the body behind it
}

var soakClips = sync.OnceValue(func() (clips [][]byte) {
	for seed := range 16 {
		clips = append(clips, speechWAV(0.5, seed))
	}
	return clips
})

// clip asks for the text of half a second.
func (k *soaker) clip(i int) *soakCall {
	clips := soakClips()
	return &soakCall{fields: []string{"model", "whisper-1"}, file: clips[i%len(clips)]}
}

// of has another file.
func (c *soakCall) of(file []byte) *soakCall {
	c.file = file
	return c
}

func (c *soakCall) streamed() *soakCall {
	c.fields = append(c.fields, "stream", "true", "include[]", "logprobs")
	return c
}

func (c *soakCall) resumable() *soakCall {
	c.header += "X-Hark-Resume: true\r\n"
	return c.streamed()
}

func (c *soakCall) asJob() *soakCall {
	c.header += "Prefer: respond-async\r\n"
	return c
}

func (c *soakCall) isJob() bool { return strings.Contains(c.header, "Prefer") }

// want is the status that it has where there is a place.
func (c *soakCall) want() int {
	if c.isJob() {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// text is the whole request, made once.
func (c *soakCall) text() []byte {
	c.once.Do(func() {
		var body []byte
		c.contentType, body = form(c.file, c.fields...)
		c.head = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n",
			transcriptionsPath, c.contentType, len(body), c.header)
		c.whole = slices.Concat(c.head, body)
	})
	return c.whole
}

// send sends it and notes the answer, which must come.
func (k *soaker) send(t *testing.T, c *soakCall) *answer {
	text := c.text()
	r, err := http.NewRequest("POST", k.url+transcriptionsPath, bytes.NewReader(text[len(c.head):]))
	if err != nil {
		t.Error(err)
		return &answer{}
	}
	r.Header.Set("Content-Type", c.contentType)
	for line := range strings.SplitSeq(strings.TrimSpace(c.header), "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			r.Header.Set(name, value)
		}
	}
	resp, err := k.client.Do(r)
	var a *answer
	if err == nil {
		a, err = readWhole(resp)
	}
	return k.noteOf(t, a, err, c.want())
}

// noteOf notes an answer, or that there is none.
func (k *soaker) noteOf(t *testing.T, a *answer, err error, want int) *answer {
	if err != nil {
		k.mu.Lock()
		k.resets++
		k.mu.Unlock()
		t.Errorf("the link broke: %v", err)
		return &answer{}
	}
	k.note(t, a, want)
	return a
}

// untilPlaced sends it until there is a place for it, and returns its answer.
func (k *soaker) untilPlaced(t *testing.T, c *soakCall) *answer {
	for {
		a := k.send(t, c)
		if a.status != http.StatusTooManyRequests {
			return a
		}
		time.Sleep(20 * time.Millisecond) // sooner than was asked for
	}
}

// link opens a bare link of which little lies in buffers.
func (k *soaker) link(t *testing.T) *net.TCPConn {
	conn, err := net.Dial("tcp", strings.TrimPrefix(k.url, "http://"))
	if err != nil {
		t.Error(err)
		return nil
	}
	tcp := conn.(*net.TCPConn)
	tcp.SetReadBuffer(4 << 10)
	return tcp
}

// slowWriter sends half of a call, byte after byte until it's released, and then the rest.
func (k *soaker) slowWriter(t *testing.T, c *soakCall, release <-chan struct{}) {
	conn := k.link(t)
	if conn == nil {
		return
	}
	defer conn.Close()
	text := c.text()
	half := len(text) / 2
	_, err := conn.Write(text[:half])
	for text = text[half:]; err == nil && len(text) > 1; text = text[1:] {
		select {
		case <-release:
			_, err = conn.Write(text)
			a, errRead := readLink(conn)
			k.noteOf(t, a, firstError(errRead, err), c.want())
			return
		case <-time.After(50 * time.Millisecond):
			_, err = conn.Write(text[:1])
		}
	}
	a, errRead := readLink(conn) // it was refused
	k.noteOf(t, a, firstError(errRead, err), c.want())
}

// firstError is the error of reading; what writing failed with is of no account where there was an answer.
func firstError(reading, writing error) error {
	if reading != nil && writing != nil {
		return fmt.Errorf("%w, after %w", reading, writing)
	}
	return reading
}

// readLink reads the next answer of a link, and passes over those that only probe it.
func readLink(r io.Reader) (*answer, error) {
	lines := bufio.NewReaderSize(r, 16)
	for {
		resp, err := http.ReadResponse(lines, nil)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusContinue {
			return readWhole(resp)
		}
	}
}

// slowReader sends a call and reads one byte a second until it's released, then the rest.
func (k *soaker) slowReader(t *testing.T, c *soakCall, release <-chan struct{}) {
	conn := k.link(t)
	if conn == nil {
		return
	}
	defer conn.Close()
	_, err := conn.Write(c.text())
	a, errRead := readLink(&droplets{conn, release})
	k.noteOf(t, a, firstError(errRead, err), c.want())
	if a != nil && a.status == http.StatusOK && !strings.Contains(a.body, doneMark) {
		t.Errorf("a stream without an end: %q", a.body)
	}
}

// droplets reads one byte a second until it's released.
type droplets struct {
	r       io.Reader
	release <-chan struct{}
}

func (d *droplets) Read(p []byte) (int, error) {
	select {
	case <-d.release:
		return d.r.Read(p)
	case <-time.After(time.Second):
		return d.r.Read(p[:1])
	}
}

// halfCloser sends so much of a call and closes its half of the link, and reads on.
func (k *soaker) halfCloser(t *testing.T, c *soakCall, part float64, want int) {
	conn := k.link(t)
	if conn == nil {
		return
	}
	defer conn.Close()
	text := c.text()
	_, err := conn.Write(text[:int(part*float64(len(text)))])
	if err == nil {
		err = conn.CloseWrite()
	}
	a, errRead := readLink(conn)
	k.noteOf(t, a, firstError(errRead, err), want)
}
