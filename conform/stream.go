package conform

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// event is one of a stream: the JSON of its data lines.
type event struct {
	Type  string          `json:"type"`
	Delta string          `json:"delta"`
	Text  string          `json:"text"`
	Error json.RawMessage `json:"error"`
}

// streamed is what a stream brought.
type streamed struct {
	deltas  string
	done    string
	ended   bool // [DONE] came
	longest time.Duration
}

// maxLineBytes bounds a line of a stream.
const maxLineBytes = 8 << 20

// stream asks for a transcript as events and reads them to the end.
func (s *session) stream(ctx context.Context, file upload, fields ...string) (*streamed, error) {
	r, err := s.newPost(ctx, transcriptions, s.form(file, append([]string{"stream=true"}, fields...)...))
	if err != nil {
		return nil, err
	}
	var sent atomic.Int64 // when all was, in nanoseconds from the beginning
	begin := time.Now()
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent.Store(int64(time.Since(begin))) }}
	response, err := s.client.Do(r.WithContext(httptrace.WithClientTrace(ctx, trace)))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if t := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK ||
		!strings.HasPrefix(t, "text/event-stream") {
		body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
		return nil, errors.Join(
			fmt.Errorf("no stream but %d as %q: %s", response.StatusCode, t, brief(string(body))), err)
	}
	return readStream(response.Body, begin.Add(time.Duration(sent.Load())))
}

// readStream reads events as the official clients do: data lines up to a blank one, comments left out, the type from
// the JSON. last is when something went over the link before.
func readStream(body io.Reader, last time.Time) (*streamed, error) {
	var out streamed
	var data bytes.Buffer
	finished := false
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		out.longest, last = max(out.longest, time.Since(last)), time.Now()
		line := lines.Bytes()
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data.Write(bytes.TrimPrefix(rest, []byte(" ")))
			continue
		}
		if len(line) > 0 || data.Len() == 0 { // a comment, an event's name, a blank line after one
			continue
		}
		done, err := out.take(data.Bytes())
		if err != nil {
			return nil, err
		}
		finished = finished || done
		data.Reset()
	}
	out.longest = max(out.longest, time.Since(last))
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("the stream broke off: %w", err)
	}
	if !finished {
		return nil, fmt.Errorf("the stream ends without transcript.text.done; its deltas: %q", brief(out.deltas))
	}
	return &out, nil
}

// take takes in one event's data. True means that it was transcript.text.done.
func (out *streamed) take(data []byte) (done bool, err error) {
	if string(data) == "[DONE]" {
		out.ended = true
		return false, nil
	}
	if !utf8.Valid(data) {
		return false, fmt.Errorf("an event is not valid UTF-8: %q", brief(string(data)))
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, fmt.Errorf("an event is not JSON: %q", brief(string(data)))
	}
	switch {
	case len(e.Error) > 0:
		return false, fmt.Errorf("the stream brings an error: %s", brief(string(data)))
	case e.Type == "":
		return false, fmt.Errorf("an event has no type: %s", brief(string(data)))
	case strings.ContainsRune(e.Delta, utf8.RuneError):
		return false, fmt.Errorf("a delta cuts a character: %q", e.Delta)
	case e.Type == "transcript.text.delta":
		out.deltas += e.Delta
	case e.Type == "transcript.text.done":
		out.done = e.Text
		return true, nil
	}
	return false, nil
}

// wholeStream is T15: the deltas of a stream are its text.
func (s *session) wholeStream(ctx context.Context, file upload, fields ...string) (string, error) {
	st, err := s.stream(ctx, file, fields...)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(st.deltas) != strings.TrimSpace(st.done) {
		return "", fmt.Errorf("the deltas join to %q, the text at the end is %q", brief(st.deltas), brief(st.done))
	}
	if st.done == "" {
		return "", errors.New("the text is empty")
	}
	return brief(st.done), nil
}

// speechStream is T15 with the speech that is always at hand.
func speechStream(ctx context.Context, s *session) (string, error) {
	return s.wholeStream(ctx, s.loop(40))
}

// streamEvents is T10: a stream is one, to the end that clients wait for.
func streamEvents(ctx context.Context, s *session) (string, error) {
	st, err := s.stream(ctx, s.clip())
	if err != nil {
		return "", err
	}
	if !st.ended {
		return "", errors.New("no data: [DONE] at the end")
	}
	return brief(st.done), s.speech.matches(st.done, 0, clipSeconds)
}

// maxSilence is how long a link may bring nothing: proxies drop idle ones after 30 s and more.
const maxSilence = 15 * time.Second

// streamAlive is T10: a long recording's stream brings something often enough. The server is
// kept busy for longer than a proxy waits.
func streamAlive(ctx context.Context, s *session) (string, error) {
	seconds, err := s.within(ctx, time.Minute, 3600)
	if err != nil {
		return "", err
	}
	begin := time.Now()
	st, err := s.stream(ctx, s.loop(seconds))
	if err != nil {
		return "", err
	}
	got := fmt.Sprintf("%.0f s of speech in %.0f s, the longest silence %.1f s", seconds,
		time.Since(begin).Seconds(), st.longest.Seconds())
	if st.longest > maxSilence {
		return "", errors.New(got)
	}
	return got, nil
}

// job is T10: a client that asks for it gets an address at once and the result there later.
func job(ctx context.Context, s *session) (string, error) {
	r, err := s.newPost(ctx, transcriptions, s.form(s.loop(120)))
	if err != nil {
		return "", err
	}
	r.Header.Set("Prefer", "respond-async")
	a, err := s.do(r)
	if err != nil {
		return "", err
	}
	switch {
	case a.status == http.StatusOK: // RFC 7240: a preference may be left alone
		return "", skip("it answers at once: this server has no jobs")
	case a.status != http.StatusAccepted:
		return "", fmt.Errorf("%s", a)
	}
	at, err := s.base.Parse(a.header.Get("Location"))
	if err != nil || a.header.Get("Location") == "" || at.Host != s.base.Host {
		return "", fmt.Errorf("202 with Location %q", a.header.Get("Location"))
	}
	for {
		result, err := s.get(ctx, at, nil)
		if err != nil {
			return "", err
		}
		var v struct {
			Text   *string
			Result struct{ Text *string }
		}
		json.Unmarshal(result.body, &v)
		if v.Text == nil {
			v.Text = v.Result.Text
		}
		if v.Text != nil {
			return result.String(), s.speech.matches(*v.Text, 0, 120)
		}
		if result.status >= 400 {
			return "", fmt.Errorf("%s: %s", at.Path, result)
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return "", err
		}
	}
}
