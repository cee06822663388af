package models

import (
	"os"
	"testing"
)

// Whatever tokenizer.json comes in, encoding gives ids that exist, and where
// the vocabulary has every byte, decoding them gives the text back.
func FuzzTokenizerJSON(f *testing.F) {
	toy, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(toy, "hello helloo we've\n\n 12 é\u3000日")
	f.Add(toy, "\xff\xf0\x9f\x98 <|end|>")
	f.Add([]byte(`{"added_tokens":[{"id":3,"content":"<|x|>"}],"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]}}`), "abba")
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"":1023},"merges":[]}}`), "a")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tok, err := parseTokenizer(file)
		if err != nil {
			return
		}
		if tok.Len() > 4*len(file)+1024 {
			t.Errorf("%d ids from a file of %d bytes", tok.Len(), len(file))
		}
		complete := true
		for b := range 256 {
			_, ok := tok.ids[string([]byte{byte(b)})]
			complete = complete && ok
		}
		ids := tok.Encode(text)
		var raw []byte
		for _, id := range ids {
			if tok.Bytes(id) == nil {
				t.Fatalf("Encode(%q) gives id %d, which has no bytes", text, id)
			}
			raw = append(raw, tok.Bytes(id)...)
		}
		if complete && string(raw) != text {
			t.Errorf("Encode(%q) = %v, whose bytes are %q", text, ids, raw)
		}
		if got, want := tok.Decode(ids), replaceInvalid(raw); got != want {
			t.Errorf("Decode(%v) = %q, want %q", ids, got, want)
		}
	})
}
