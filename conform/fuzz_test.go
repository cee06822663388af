package conform

import (
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"
)

// FuzzStream holds the reader of events to the same result whatever pieces they come in, and to whole characters.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"data: {\"type\":\"transcript.text.delta\",\"delta\":\"Ha\"}\n\ndata: {\"type\":\"transcript.text.done\",\"text\":\"Ha\"}\n\ndata: [DONE]\n\n",
		": keepalive\n\nevent: x\ndata: {\"type\":\"transcript.text.done\",\ndata: \"text\":\"\"}\n\n",
		"data:{\"error\":{\"message\":\"no\"}}\n\n",
		"data: {\"delta\":\"\xe7\x81\"}\n\n",
		"data: [DONE]\n\n",
		"\n\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		whole, err := readStream(strings.NewReader(body), time.Now())
		pieces, err2 := readStream(iotest.OneByteReader(strings.NewReader(body)), time.Now())
		if (err == nil) != (err2 == nil) {
			t.Fatalf("whole: %v, in pieces: %v", err, err2)
		}
		if err != nil {
			return
		}
		if whole.deltas != pieces.deltas || whole.done != pieces.done || whole.ended != pieces.ended {
			t.Errorf("whole: %+v, in pieces: %+v", whole, pieces)
		}
		if !utf8.ValidString(whole.deltas) || len(whole.deltas) > len(body) {
			t.Errorf("got %q of %q", whole.deltas, body)
		}
	})
}

// FuzzCues holds the reader of subtitles to cues with a text, in one line, and to times that can be.
func FuzzCues(f *testing.F) {
	for _, seed := range []string{
		"1\n00:00:00,000 --> 00:00:01,680\nSet the heater.\n\n2\n00:00:01,920 --> 00:00:03,040\nTurn on the light.\n",
		"00:00.000 --> 00:01.000\nShort times.\n",
		"1\n00:00:00,000 --> 00:00:01,680\nTwo\nlines\n", "1\n", "", "2\n00:00:00,000 --> 00:00:00,000\n",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, body string, srt bool) {
		times := vttTimes
		if srt {
			times = srtTimes
		}
		list, err := cues(body, times, srt)
		if err != nil {
			return
		}
		for _, c := range list {
			if c.start < 0 || c.end < 0 || strings.Contains(c.text, "\n") {
				t.Errorf("got %+v", c)
			}
		}
	})
}

// FuzzError holds the reader of errors to what it promises, and what is shown of an answer to one short line.
func FuzzError(f *testing.F) {
	for _, seed := range []string{
		`{"error":{"message":"no file","type":"invalid_request_error","param":"file","code":null}}`,
		`{"error":{"message":"no file","type":"invalid_request_error","param":"file"}}`,
		`{"error":{"message":"no file","type":"x","param":null,"code":400}}`,
		`{"error":"no file"}`, `{"detail":[]}`, `null`, ``, strings.Repeat("\x80", 400),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		a := &answer{status: 400, header: http.Header{"Content-Type": {"application/json"}}, body: []byte(body)}
		if shown := a.String(); strings.Contains(shown, "\n") || len(shown) > 400 || !utf8.ValidString(shown) {
			t.Errorf("got %q", shown)
		}
		if e, err := apiErrorOf(a); err == nil && !strings.Contains(body, "param") {
			t.Errorf("got %+v of %q", e, body)
		}
	})
}
