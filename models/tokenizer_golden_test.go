package models

import (
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
)

// The goldens are OpenAI's own tokenizer (tiktoken); what is read here are the
// tokenizer.json files of two real models, one of each vocabulary.
var goldenVocabularies = []string{"tiny.en", "base"}

func realTokenizer(t testing.TB, model string) *Tokenizer {
	t.Helper()
	tok, err := LoadTokenizer(filepath.Join(realModel(t, model), "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestGoldenStrings(t *testing.T) {
	var golden struct {
		Strings []struct {
			Hex    string  `json:"utf8_hex"`
			TinyEn []int32 `json:"tiny.en"`
			Base   []int32 `json:"base"`
		} `json:"strings"`
		Decode []struct {
			Tokenizer string  `json:"tokenizer"`
			IDs       []int32 `json:"ids"`
			Hex       string  `json:"bytes_hex"`
			Text      string  `json:"text_errors_replace"`
		} `json:"decode"`
		Split []struct {
			Tokenizer  string    `json:"tokenizer"`
			IDs        []int32   `json:"ids"`
			Words      []string  `json:"words"`
			WordTokens [][]int32 `json:"word_tokens"`
		} `json:"split_to_word_tokens"`
		Timestamps []struct {
			Tokenizer string  `json:"tokenizer"`
			IDs       []int32 `json:"ids"`
			Text      string  `json:"decode"`
		} `json:"decode_with_timestamps"`
	}
	readJSON(t, sharedFile(t, "golden/whisper/tokenizer/strings.json"), &golden)
	for _, model := range goldenVocabularies {
		t.Run(model, func(t *testing.T) {
			tok := realTokenizer(t, model)
			for _, g := range golden.Strings {
				raw, err := hex.DecodeString(g.Hex)
				if err != nil {
					t.Fatal(err)
				}
				want := g.Base
				if model == "tiny.en" {
					want = g.TinyEn
				}
				if got := tok.Encode(string(raw)); !slices.Equal(got, want) {
					t.Errorf("Encode(%q) = %v, want %v", raw, got, want)
				}
				if got := tok.Decode(want); got != string(raw) {
					t.Errorf("Decode(%v) = %q, want %q", want, got, raw)
				}
			}
			decoded := 0
			for _, g := range golden.Decode {
				if g.Tokenizer != model {
					continue
				}
				decoded++
				var raw []byte
				for _, id := range g.IDs {
					raw = append(raw, tok.Bytes(id)...)
				}
				if got := hex.EncodeToString(raw); got != g.Hex {
					t.Errorf("bytes of %v = %s, want %s", g.IDs, got, g.Hex)
				}
				if got := tok.Decode(g.IDs); got != g.Text {
					t.Errorf("Decode(%v) = %q, want %q", g.IDs, got, g.Text)
				}
			}
			for _, g := range golden.Split {
				if g.Tokenizer != model {
					continue
				}
				decoded++
				for i, ids := range g.WordTokens {
					got := tok.Decode(ids)
					if name, ok := tok.SpecialName(ids[0]); ok {
						got = name
					}
					if got != g.Words[i] {
						t.Errorf("word of %v = %q, want %q", ids, got, g.Words[i])
					}
				}
			}
			for _, g := range golden.Timestamps {
				if g.Tokenizer != model {
					continue
				}
				decoded++
				if got := tok.Decode(g.IDs); got != g.Text {
					t.Errorf("Decode(%v) = %q, want %q", g.IDs, got, g.Text)
				}
			}
			if decoded == 0 {
				t.Error("the goldens hold nothing to decode")
			}
		})
	}
}

func TestGoldenSpecialTokens(t *testing.T) {
	var all map[string]json.RawMessage
	readJSON(t, sharedFile(t, "golden/whisper/tokenizer/special_tokens.json"), &all)
	for _, model := range goldenVocabularies {
		t.Run(model, func(t *testing.T) {
			var g struct {
				Ordinary       int              `json:"n_ordinary"`
				Special        map[string]int32 `json:"special"`
				TimestampBegin int32            `json:"timestamp_begin"`
			}
			if err := json.Unmarshal(all[model], &g); err != nil {
				t.Fatal(err)
			}
			tok := realTokenizer(t, model)
			for name, want := range g.Special {
				if got, ok := tok.Special(name); !ok || got != want {
					t.Errorf("Special(%s) = %d, %v, want %d", name, got, ok, want)
				}
				if tok.Bytes(want) != nil || tok.Decode([]int32{want}) != "" {
					t.Errorf("%s, id %d, has text", name, want)
				}
			}
			if none, _ := tok.Special("<|notimestamps|>"); none+1 != g.TimestampBegin {
				t.Errorf("timestamps begin at %d, want %d", none+1, g.TimestampBegin)
			}
			for id := range int32(g.Ordinary) {
				if tok.Bytes(id) == nil {
					t.Errorf("ordinary id %d has no bytes", id)
				}
			}
			if ids := tok.Specials(); len(ids) < len(g.Special) || !slices.IsSorted(ids) {
				t.Errorf("Specials() = %v, want at least %d, rising", ids, len(g.Special))
			}
			if tok.Bytes(-1) != nil || tok.Bytes(int32(tok.Len())) != nil {
				t.Error("ids outside the vocabulary have bytes")
			}
		})
	}
}
