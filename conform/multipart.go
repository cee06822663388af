package conform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// bare is the clip as a program sends it that knows no types: the official clients do.
func (s *session) bare() upload { return s.clip().as("upload", "application/octet-stream") }

// nodeForm has the file first and no length, as Node's client sends a read stream.
func nodeForm(s *session) *form {
	f := &form{chunked: true}
	f.addFile(s.bare())
	f.add("model="+s.cfg.Model, "language=en")
	f.add(s.cfg.Fields...)
	return f
}

// goForm is in the order of the alphabet, as Go's client sends it.
func goForm(s *session) *form {
	f := &form{}
	f.add("chunking_strategy=auto")
	f.addFile(s.bare())
	f.add("language=en", "model="+s.cfg.Model, "response_format=json")
	f.add(s.cfg.Fields...)
	return f
}

// pythonForm has the fields first and the file last, as Python's client sends it.
func pythonForm(s *session) *form {
	return s.form(s.bare(), "language=en", "response_format=json", "temperature=0",
		"timestamp_granularities[]=segment", "stream=false")
}

// bracketed gives chunking_strategy as an object in brackets.
func bracketed(s *session) *form {
	return s.form(s.clip(), "chunking_strategy[type]=server_vad", "chunking_strategy[threshold]=0.5",
		"chunking_strategy[prefix_padding_ms]=300", "chunking_strategy[silence_duration_ms]=200")
}

// asJSON gives chunking_strategy as one string of JSON.
func asJSON(s *session) *form {
	return s.form(s.clip(), `chunking_strategy={"type":"server_vad","threshold":0.5}`)
}

// fileNamed puts the file's name as given.
func fileNamed(filename string) func(s *session) *form {
	return func(s *session) *form {
		f := &form{}
		f.add("model=" + s.cfg.Model)
		f.add(s.cfg.Fields...)
		f.addFileAs(s.clip(), filename)
		return f
	}
}

// bareGranularities is T25: timestamp_granularities without brackets means the same as with them.
func bareGranularities(ctx context.Context, s *session) (string, error) {
	var texts []string
	for _, name := range []string{"timestamp_granularities[]", "timestamp_granularities"} {
		t, err := s.verbose(ctx, s.clip(), name+"=word")
		if err != nil {
			return "", err
		}
		if len(t.Words) == 0 {
			return "", fmt.Errorf("no words by %s", name)
		}
		texts = append(texts, canonical(t.Words))
	}
	if texts[0] != texts[1] {
		return "", errors.New("other words without the brackets")
	}
	return brief(texts[0]), nil
}

// tinyChunks is T25: a body of unknown length in pieces that cut whatever they meet, written slowly at first.
func tinyChunks(ctx context.Context, s *session) (string, error) {
	link, err := s.dial(ctx)
	if err != nil {
		return "", err
	}
	defer link.Close()
	stop := context.AfterFunc(ctx, func() { link.Close() })
	defer stop()
	body, _, contentType := s.form(s.clip()).encode()
	all, err := io.ReadAll(body)
	if err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(link, "%sContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n",
		s.requestHead(http.MethodPost, transcriptions), contentType); err != nil {
		return "", err
	}
	for n := 1; len(all) > 0; n = min(2*n+1, 8191, max(1, len(all))) {
		n = min(n, len(all))
		if _, err := fmt.Fprintf(link, "%x;piece=%d\r\n%s\r\n", n, n, all[:n]); err != nil {
			return "", err
		}
		all = all[n:]
		if n < 100 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	if _, err := io.WriteString(link, "0\r\n\r\n"); err != nil {
		return "", err
	}
	a, err := readAnswer(link, http.MethodPost)
	if err != nil {
		return "", err
	}
	return s.heardIn(ctx, a)
}
