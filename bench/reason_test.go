package bench

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReason(t *testing.T) {
	for _, c := range []struct{ name, answer, want string }{
		{"OpenAI's body", `{"error":{"message":"no model \"x\"","type":"invalid_request_error","code":"model_not_found"}}`, `no model "x"`},
		{"a live session's event", `{"type":"invalid_request_error","code":"x","message":"no such model"}`, "no such model"},
		{"whisper.cpp's", `{"error":"failed to read audio"}`, "failed to read audio"},
		{"FastAPI's", `{"detail":"Not Found"}`, "Not Found"},
		{"FastAPI's list", `{"detail":[{"loc":["body","file"],"msg":"field required"}]}`, `{"detail":[{"loc":["body","file"],"msg":"field required"}]}`},
		{"an error without a message", `{"error":{"code":5}}`, `{"error":{"code":5}}`},
		{"plain text", " out of order\n", "out of order"},
		{"nothing", "", ""},
	} {
		if got := reason([]byte(c.answer)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzReason(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"no"}}`))
	f.Add([]byte(`{"error":"no","detail":5}`))
	f.Add([]byte(strings.Repeat("ä", maxReason)))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if got := reason(answer); len(got) > 3*len(answer) || !utf8.ValidString(got) {
			t.Errorf("%q of %q", got, answer)
		}
	})
}
