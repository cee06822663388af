package models

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sentencePieceModel reads a vocabulary of testdata, or "tiny", that of the small
// Parakeet.
func sentencePieceModel(t testing.TB, name string) *PieceTokenizer {
	t.Helper()
	if name == "tiny" {
		return openParakeet(t, tinyParakeet).Tokenizer
	}
	tokenizer, err := parseSentencePiece(readFile(t, filepath.Join("testdata/sentencepiece", name)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return tokenizer
}

func TestSentencePieceResults(t *testing.T) {
	var results map[string][]struct {
		Text    string
		IDs     []int32
		Decoded string
	}
	readJSON(t, "testdata/sentencepiece/results.json", &results)
	if len(results) != 3 {
		t.Errorf("results for %d vocabularies, want 3", len(results))
	}
	for name, cases := range results {
		tokenizer := sentencePieceModel(t, name)
		for _, c := range cases {
			ids := tokenizer.Encode(c.Text)
			if slices.ContainsFunc(c.IDs, tokenizer.Special) {
				// The reference makes special pieces from text, hark never.
				if slices.ContainsFunc(ids, tokenizer.Special) {
					t.Errorf("%s: %q gives special pieces: %v", name, c.Text, ids)
				}
				continue
			}
			if !slices.Equal(ids, c.IDs) {
				t.Errorf("%s: %q is %v, want %v", name, c.Text, ids, c.IDs)
			}
			if got := tokenizer.join(c.IDs); got != c.Decoded {
				t.Errorf("%s: %v is %q, want %q", name, c.IDs, got, c.Decoded)
			}
		}
	}
}

// proto writes a message of fields of bytes and numbers, by turns number and
// value.
func proto(fields ...any) []byte {
	var out []byte
	for i := 0; i < len(fields); i += 2 {
		number := uint64(fields[i].(int))
		switch value := fields[i+1].(type) {
		case int:
			out = binary.AppendUvarint(binary.AppendUvarint(out, number<<3), uint64(value))
		case float32:
			out = binary.LittleEndian.AppendUint32(binary.AppendUvarint(out, number<<3|5), math.Float32bits(value))
		case string:
			out = append(binary.AppendUvarint(binary.AppendUvarint(out, number<<3|2), uint64(len(value))), value...)
		case []byte:
			out = append(binary.AppendUvarint(binary.AppendUvarint(out, number<<3|2), uint64(len(value))), value...)
		}
	}
	return out
}

func TestSentencePieceFields(t *testing.T) {
	pieces := proto(1, proto(1, "<unk>", 3, 2), 1, proto(1, "\u2581a", 2, float32(-1)), 1, proto(2, float32(-2), 1, "b"), 1, proto(1, "c", 3, 3))
	model := slices.Concat(pieces, proto(2, proto(3, modelBPE), 3, proto(3, 0, 4, 0), 9, "unknown", 10, 1),
		append(proto(11, 1)[:1], 0), []byte{12<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8})
	got, err := parseSentencePiece(model)
	if err != nil {
		t.Fatal(err)
	}
	want := []piece{{"<unk>", 0, unknownPiece}, {"\u2581a", -1, normalPiece}, {"b", -2, normalPiece}, {"c", 0, controlPiece}}
	if !slices.Equal(got.pieces, want) || got.unigram || got.normalizer.prefix || got.normalizer.collapse {
		t.Errorf("%+v, unigram %v, %+v", got.pieces, got.unigram, got.normalizer)
	}
	// What is left out has the format's defaults.
	if got, err = parseSentencePiece(pieces); err != nil || !got.unigram || !got.normalizer.prefix || !got.normalizer.collapse {
		t.Errorf("defaults: %+v, %v", got, err)
	}
}

func TestSentencePieceRefusals(t *testing.T) {
	one := proto(1, proto(1, "a"))
	for name, c := range map[string]struct {
		model []byte
		want  string
	}{
		"empty":          {nil, "has no pieces"},
		"text":           {[]byte("hello world"), errProto.Error()},
		"group":          {[]byte{1<<3 | 3}, errProto.Error()},
		"field 0":        {[]byte{0, 1}, errProto.Error()},
		"long string":    {[]byte{1<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, errProto.Error()},
		"endless number": {bytes.Repeat([]byte{0xff}, 20), errProto.Error()},
		"cut number":     {append(one, 2<<3), errProto.Error()},
		"cut float":      {append(one, 2<<3|5, 1, 2), errProto.Error()},
		"cut double":     {append(one, 2<<3|1, 1, 2), errProto.Error()},
		"piece type":     {proto(1, proto(1, "a", 3, 7)), "of the unknown type 7"},
		"piece type 0":   {proto(1, proto(1, "a", 3, 0)), "of the unknown type 0"},
		"word model":     {append(proto(2, proto(3, 3)), one...), "model type 3: only unigram and BPE"},
		"short map":      {append(proto(3, proto(2, "abc")), one...), "map of characters is truncated"},
		"long map":       {append(proto(3, proto(2, "\xff\xff\xff\xff")), one...), "map of characters is truncated"},
		"odd map":        {append(proto(3, proto(2, "\x03\x00\x00\x00abc")), one...), "map of characters is truncated"},
		"many pieces":    {bytes.Repeat([]byte{1<<3 | 2, 0}, maxPieces+1), "more than 262144 pieces"},
	} {
		if _, err := parseSentencePiece(c.model); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	whole := readFile(t, "testdata/sentencepiece/unigram.model")
	for n := range whole {
		if _, err := parseSentencePiece(whole[:n]); err != nil && !errors.Is(err, errProto) && n > 0 {
			t.Errorf("cut at byte %d of %d: %v", n, len(whole), err)
		}
	}
}

// A map of characters may be anything: nothing is read beyond it, and every
// text comes to an end.
func TestCharsmapDamage(t *testing.T) {
	var whole charsmap
	for _, m := range tinyMembers(t) {
		if strings.HasSuffix(m.name, "_tokenizer.model") {
			tokenizer, err := parseSentencePiece(m.data)
			if err != nil {
				t.Fatal(err)
			}
			whole = tokenizer.normalizer.chars
		}
	}
	const text = "ｆｕｌｌ width ① ﬁ e\u0301 \xff"
	if got := whole.replace(text); got != "full width 1 fi \u00e9 \ufffd" {
		t.Errorf("whole: %q", got)
	}
	for _, c := range []charsmap{{whole.units[:4], whole.texts}, {whole.units, ""}, {whole.units[:len(whole.units)/8*4], whole.texts[:100]}, {nil, whole.texts}, {bytes.Repeat([]byte{0xff}, 4096), "x"}} {
		if got := c.replace(text); !strings.HasPrefix(got, "ｆ") && !strings.HasPrefix(got, "f") {
			t.Errorf("%d bytes of trie, %d of texts: %q", len(c.units), len(c.texts), got)
		}
	}
}

func FuzzSentencePiece(f *testing.F) {
	for _, name := range []string{"unigram.model", "bytes.model"} {
		f.Add(readFile(f, filepath.Join("testdata/sentencepiece", name)), "turn on the café")
	}
	f.Add(append(proto(1, proto(1, "a"), 3, proto(2, "\x04\x00\x00\x00\x00\x05\x00\x00x\x00")), proto(2, proto(3, 2))...), "a b")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tokenizer, err := parseSentencePiece(data)
		if err != nil {
			return
		}
		if tokenizer.Len() > len(data) {
			t.Errorf("%d pieces from %d bytes", tokenizer.Len(), len(data))
		}
		if len(text) > 200 {
			text = text[:200]
		}
		for _, id := range tokenizer.Encode(text) {
			if id < 0 || int(id) >= tokenizer.Len() {
				t.Errorf("%q gives the id %d of %d", text, id, tokenizer.Len())
			}
			tokenizer.Text(id)
		}
	})
}
