package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"unsafe"
)

// maxTokenizerFile bounds tokenizer.json; Whisper's is 2 MB.
const maxTokenizerFile = 64 << 20

// Tokenizer turns text into a model's token ids and back: GPT-2's byte-level
// byte-pair encoding, as in a Hugging Face tokenizer.json. It is immutable and
// safe for concurrent use.
type Tokenizer struct {
	ids      tokenTable       // ordinary tokens by their bytes
	bytes    [][]byte         // by id; nil for special and unknown ids
	specials map[string]int32 // added tokens by name
	names    map[int32]string // the same by id
	longest  int              // bytes of the longest ordinary token
	arena    []byte           // what bytes refers to
}

// LoadTokenizer reads a tokenizer.json. The error is a [*FormatError] if the
// file is no byte-level BPE tokenizer.
func LoadTokenizer(path string) (*Tokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxTokenizerFile {
		return nil, &FormatError{File: path, Reason: fmt.Sprintf("%d bytes are more than a tokenizer takes", info.Size())}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := parseTokenizer(data)
	if err != nil {
		return nil, &FormatError{File: path, Reason: err.Error()}
	}
	return t, nil
}

// currentName gives the special tokens that older tokenizer files know by
// another name the one that OpenAI uses now (whisper/tokenizer.py).
var currentName = map[string]string{
	"<|nocaptions|>": "<|nospeech|>",
	"<|iw|>":         "<|he|>", // Hebrew's old ISO 639 code
}

// specialName returns the current name of a special token.
func specialName(name string) string {
	if current, ok := currentName[name]; ok {
		return current
	}
	return name
}

// parseTokenizer takes from tokenizer.json what decides about ids: the
// vocabulary, the added tokens and, as a check, the merges. Splitting and the
// byte alphabet are those of GPT-2 whatever the file says about them, since no
// Whisper model has others.
func parseTokenizer(data []byte) (*Tokenizer, error) {
	var file struct {
		Added []struct {
			ID      int32  `json:"id"`
			Content string `json:"content"`
		} `json:"added_tokens"`
		Model struct {
			Type   string          `json:"type"`
			Vocab  json.RawMessage `json:"vocab"`
			Merges json.RawMessage `json:"merges"`
		} `json:"model"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Model.Type != "BPE" {
		return nil, fmt.Errorf("model type %q, only byte-level BPE is read", file.Model.Type)
	}

	t := &Tokenizer{specials: map[string]int32{}, names: map[int32]string{}}
	for _, a := range file.Added {
		name := specialName(a.Content)
		if _, twice := t.names[a.ID]; twice {
			return nil, fmt.Errorf("two added tokens have the id %d", a.ID)
		}
		if _, twice := t.specials[name]; twice {
			return nil, fmt.Errorf("added token %q is there twice", name)
		}
		t.specials[name], t.names[a.ID] = a.ID, name
	}

	tokens := bytes.Count(file.Model.Vocab, []byte{','}) + 1 // or a few more: one of them is the comma
	t.ids = newTokenTable(tokens)
	t.arena = make([]byte, 0, len(file.Model.Vocab))
	// Ids index a table. Those of a real vocabulary are dense; a stray one must
	// not make the table large.
	limit := int32(4*(tokens+len(t.names)) + 1024)
	err := eachToken(file.Model.Vocab, func(token string, id int32) error {
		if id < 0 || id >= limit {
			return fmt.Errorf("id %d of %q is out of place among %d tokens", id, token, tokens)
		}
		return t.addOrdinary(token, id)
	})
	if err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	for id, name := range t.names {
		if id < 0 || id >= limit {
			return nil, fmt.Errorf("id %d of %q is out of place among %d tokens", id, name, tokens)
		}
		t.grow(id)
	}
	return t, t.checkMerges(file.Model.Merges)
}

func (t *Tokenizer) addOrdinary(token string, id int32) error {
	if name, special := t.names[id]; special {
		if name != specialName(token) {
			return fmt.Errorf("id %d is both %q and the added token %q", id, token, name)
		}
		return nil // vocabularies list <|endoftext|> a second time
	}
	// All tokens lie in one piece of memory: hundreds of thousands of small ones would keep
	// the garbage collector busy at every start.
	start := len(t.arena)
	var ok bool
	if t.arena, ok = unalphabet(t.arena, token); !ok {
		return fmt.Errorf("token %q is not in the byte alphabet: this is no byte-level BPE vocabulary", token)
	}
	raw := t.arena[start:len(t.arena):len(t.arena)]
	t.grow(id)
	if t.bytes[id] != nil {
		return fmt.Errorf("id %d is given twice", id)
	}
	if !t.ids.add(raw, id, t.bytes) {
		return fmt.Errorf("token %q is there twice", token)
	}
	t.bytes[id] = raw
	t.longest = max(t.longest, len(raw))
	return nil
}

func (t *Tokenizer) grow(id int32) {
	if n := int(id) + 1 - len(t.bytes); n > 0 {
		t.bytes = append(t.bytes, make([][]byte, n)...)
	}
}

// checkMerges makes sure that the ids of merged tokens rise along the merge
// list, because Encode ranks a pair by the id of what it makes. The list itself
// is not used: published copies lack entries, the ids do not.
func (t *Tokenizer) checkMerges(data json.RawMessage) error {
	if len(data) == 0 {
		return errors.New("the model has no merges")
	}
	last := int32(-1)
	var raw []byte
	return eachMerge(data, func(i int, left, right string) error {
		var ok, alsoOK bool
		raw, ok = unalphabet(raw[:0], left)
		raw, alsoOK = unalphabet(raw, right)
		id, known := last+1, true // in published files nearly always
		if !bytes.Equal(t.Bytes(id), raw) {
			id, known = t.ids.find(raw, t.bytes)
		}
		if !ok || !alsoOK || !known {
			return fmt.Errorf("merge %d makes %q, which the vocabulary lacks", i, left+right)
		}
		if id <= last {
			return fmt.Errorf("merge %d makes id %d after %d: only vocabularies in the order of merges are read", i, id, last)
		}
		last = id
		return nil
	})
}

// Encode returns the tokens of an ordinary text. The names of special tokens
// are text like any other here. Bytes that are not UTF-8 are encoded as they
// are, and a byte for which the vocabulary has no token is left out, which no
// real vocabulary does. Time grows with n log n in the longest word.
func (t *Tokenizer) Encode(text string) []int32 {
	var ids []int32
	var m merger
	for len(text) > 0 {
		n := nextPiece(text)
		ids = t.encodePiece(ids, &m, text[:n])
		text = text[n:]
	}
	return ids
}

// encodePiece appends the tokens of one piece. Ids are given in the order in
// which training found the merges, so that an id is its token's rank.
func (t *Tokenizer) encodePiece(ids []int32, m *merger, piece string) []int32 {
	if id, ok := t.rank(piece); ok {
		return append(ids, id)
	}
	m.merge(t, piece, func(string) int { return 1 }, func(part string) {
		if id, ok := t.rank(part); ok {
			ids = append(ids, id)
		}
	})
	return ids
}

func (t *Tokenizer) rank(part string) (int32, bool) {
	return t.ids.find(unsafe.Slice(unsafe.StringData(part), len(part)), t.bytes) // which find only reads
}

func (t *Tokenizer) longestPart() int { return t.longest }

// Decode returns the text of tokens. Special and unknown ids are skipped, and
// tokens may cut characters: what does not join to valid UTF-8 becomes U+FFFD,
// one for each maximal part of a character as in Python's errors="replace".
func (t *Tokenizer) Decode(ids []int32) string {
	var raw []byte
	for _, id := range ids {
		raw = append(raw, t.Bytes(id)...)
	}
	return replaceInvalid(raw)
}

// Bytes returns the bytes of an ordinary token, which need not be whole
// characters; an empty slice for the empty token that multilingual
// vocabularies have, and nil for special and unknown ids. The slice is the
// tokenizer's own: read only.
func (t *Tokenizer) Bytes(id int32) []byte {
	if id < 0 || int(id) >= len(t.bytes) {
		return nil
	}
	return t.bytes[id]
}

// Special returns the id of a special token, such as "<|en|>". The names are
// OpenAI's current ones, whatever the file calls <|nospeech|> and <|he|>. Files
// differ in whether they list the timestamps (<|0.00|> to <|30.00|>): where
// they do not, those are the 1501 ids that follow <|notimestamps|>.
func (t *Tokenizer) Special(name string) (int32, bool) {
	id, ok := t.specials[specialName(name)]
	return id, ok
}

// SpecialName returns the name by which Special finds the token with this id.
func (t *Tokenizer) SpecialName(id int32) (string, bool) {
	name, ok := t.names[id]
	return name, ok
}

// Specials returns the ids of all special tokens, rising. The languages of a
// Whisper model are those between <|startoftranscript|> and <|translate|>.
func (t *Tokenizer) Specials() []int32 {
	ids := make([]int32, 0, len(t.names))
	for id := range t.names {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	return ids
}

// Len returns the highest id plus one. A model's vocabulary is larger where the
// file leaves the timestamps out.
func (t *Tokenizer) Len() int { return len(t.bytes) }
