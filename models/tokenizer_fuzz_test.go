package models

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// Whatever tokenizer.json comes in, encoding gives ids that exist. With a
// vocabulary that has every byte, decoding them gives the text back. The seeds
// are small, since the fuzzer spends its time on making large ones smaller.
func FuzzTokenizerJSON(f *testing.F) {
	f.Add([]byte(`{"added_tokens":[{"id":3,"content":"<|x|>"}],"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":[["a","b"]]}}`), "abba")
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"\u0120":0,"h":1,"\"":2,"\u0120h":3},"merges":["\u0120 h"]}}`), " h \"he")
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"":1023},"merges":[]}}`), "hello helloo we've\n\n 12 é\u3000日")
	f.Add([]byte(`{}`), "\xff\xf0\x9f\x98 <|end|>")
	complete := toyTokenizer(f)
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		ids := complete.Encode(text)
		if raw := joinBytes(complete, ids); raw != text {
			t.Errorf("Encode(%q) = %v, whose bytes are %q", text, ids, raw)
		}
		if got := complete.Decode(ids); utf8.ValidString(text) && got != text {
			t.Errorf("Decode(Encode(%q)) = %q", text, got)
		} else if !utf8.ValidString(got) {
			t.Errorf("Decode(%v) = %q, which is not UTF-8", ids, got)
		}

		tok, err := parseTokenizer(file)
		if err != nil {
			return
		}
		if tok.Len() > 4*len(file)+1024 {
			t.Errorf("%d ids from a file of %d bytes", tok.Len(), len(file))
		}
		// The vocabulary is what encoding/json reads.
		var same struct {
			Model struct {
				Vocab json.RawMessage `json:"vocab"`
			} `json:"model"`
		}
		vocab := map[string]int32{}
		if err := json.Unmarshal(file, &same); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(same.Model.Vocab, &vocab); err != nil {
			t.Fatal(err)
		}
		for token, id := range vocab {
			want, _ := unalphabet(nil, token)
			if _, special := tok.SpecialName(id); !special && string(tok.Bytes(id)) != string(want) {
				t.Errorf("token %q, id %d, has the bytes %q", token, id, tok.Bytes(id))
			}
		}
		for _, id := range tok.Encode(text) {
			if tok.Bytes(id) == nil {
				t.Fatalf("Encode(%q) gives id %d, which has no bytes", text, id)
			}
		}
	})
}

func joinBytes(tok *Tokenizer, ids []int32) string {
	var raw []byte
	for _, id := range ids {
		raw = append(raw, tok.Bytes(id)...)
	}
	return string(raw)
}
