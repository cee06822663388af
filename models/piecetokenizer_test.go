package models

import (
	"slices"
	"strings"
	"testing"
)

// parakeetGolden is what the reference makes of the small model's results.
type parakeetGolden struct {
	Utterances []struct {
		Name   string
		Tokens []int32
		Pieces []string
		Text   string
		Chars  []struct{ Char string }
	}
}

func TestPieceTokenizerGolden(t *testing.T) {
	var golden parakeetGolden
	readJSON(t, sharedFile(t, "golden/parakeet/tiny.json"), &golden)
	for form, tokenizer := range map[string]*PieceTokenizer{
		"nemo": openParakeet(t, tinyParakeet).Tokenizer,
		"hf":   openParakeet(t, hfParakeetDir(t)).Tokenizer,
	} {
		for _, u := range golden.Utterances {
			var pieces []string
			for i, id := range u.Tokens {
				pieces = append(pieces, tokenizer.Piece(id))
				if got, want := tokenizer.Text(id), u.Chars[i].Char; got != want {
					t.Errorf("%s, %s: token %d alone is %q, want %q", form, u.Name, id, got, want)
				}
			}
			if !slices.Equal(pieces, u.Pieces) {
				t.Errorf("%s, %s: pieces %q, want %q", form, u.Name, pieces, u.Pieces)
			}
			if got := tokenizer.Decode(u.Tokens); got != u.Text {
				t.Errorf("%s, %s: text %q, want %q", form, u.Name, got, u.Text)
			}
		}
		if got := string(tokenizer.Marks()); got != "!,.?" {
			t.Errorf("%s: marks %q, want those of the vocabulary", form, got)
		}
		if tokenizer.Len() != 128 {
			t.Errorf("%s: %d pieces, want 128", form, tokenizer.Len())
		}
	}
}

// toyPieces is a vocabulary with a piece of every kind.
func toyPieces() *PieceTokenizer {
	return newPieceTokenizer([]piece{
		0:  {"<unk>", 0, unknownPiece},
		1:  {"<pad>", 0, controlPiece},
		2:  {"<|en|>", 0, userPiece},
		3:  {wordStart, -1, normalPiece},
		4:  {wordStart + "one", -2, normalPiece},
		5:  {"two", -3, normalPiece},
		6:  {".", -4, normalPiece},
		7:  {"'s", -5, normalPiece},
		8:  {wordStart + "(", -6, normalPiece},
		9:  {"a" + wordStart + "b", -7, normalPiece},
		10: {"<0xC3>", 0, bytePiece},
		11: {"<0xA9>", 0, bytePiece},
		12: {"[;]", -8, normalPiece},
		13: {"##:", -9, normalPiece},
		14: {"¿+", -10, normalPiece},
		15: {"never", -11, unusedPiece},
	}, false, pieceNormalizer{prefix: true, collapse: true})
}

func TestPieceTokenizerKinds(t *testing.T) {
	tokenizer := toyPieces()
	for _, c := range []struct {
		ids         []int32
		text, plain string // plain: with spaces before marks
	}{
		{nil, "", ""},
		{[]int32{4, 5}, "onetwo", "onetwo"},
		{[]int32{5, 4}, "two one", "two one"},
		{[]int32{4, 4, 6}, "one one.", "one one."},
		{[]int32{4, 3, 6}, "one.", "one ."},
		{[]int32{4, 3, 3, 6}, "one .", "one  ."}, // only one space goes
		{[]int32{3, 6, 3, 6}, "..", ". ."},
		{[]int32{3, 3, 4}, "one", "one"},
		{[]int32{4, 3}, "one ", "one "},
		{[]int32{4, 3, 7}, "one's", "one 's"},
		{[]int32{4, 8, 5}, "one (two", "one (two"}, // ( only starts words
		{[]int32{9}, "a b", "a b"},
		{[]int32{2, 4, 1, 5, 2}, "onetwo", "onetwo"},
		{[]int32{0, 4}, " ⁇  one", " ⁇  one"},
		{[]int32{4, 0}, "one ⁇ ", "one ⁇ "},
		{[]int32{4, 10, 11}, "oneé", "oneé"},
		{[]int32{10, 5}, "\ufffdtwo", "\ufffdtwo"},
		{[]int32{-1, 4, 99}, "one", "one"},
	} {
		if got := tokenizer.Decode(c.ids); got != c.text {
			t.Errorf("Decode(%v) = %q, want %q", c.ids, got, c.text)
		}
		if got := tokenizer.join(c.ids); got != c.plain {
			t.Errorf("join(%v) = %q, want %q", c.ids, got, c.plain)
		}
	}
	for id, want := range map[int32]string{-1: "", 1: "", 2: "", 3: "", 4: "one", 6: ".", 9: "a b", 10: "\ufffd", 16: "", 0: unknownText} {
		if got := tokenizer.Text(id); got != want {
			t.Errorf("Text(%d) = %q, want %q", id, got, want)
		}
	}
	var special, starts []int32
	for id := int32(-1); id < 20; id++ {
		if tokenizer.Special(id) {
			special = append(special, id)
		}
		if tokenizer.StartsWord(id) {
			starts = append(starts, id)
		}
	}
	if !slices.Equal(special, []int32{1, 2}) || !slices.Equal(starts, []int32{3, 4, 8}) {
		t.Errorf("special %v, start words %v", special, starts)
	}
	if got := string(tokenizer.Marks()); got != "'.¿" {
		t.Errorf("marks %q", got)
	}
	for text, want := range map[string]bool{".": true, "'": true, "¿": true, "'s": false, "(": false, ";": false, ":": false, "+": false, "": false, "<": false} {
		if got := tokenizer.IsMark(text); got != want {
			t.Errorf("IsMark(%q) = %v", text, got)
		}
	}
}

func TestPieceTokenizerEncode(t *testing.T) {
	for _, unigram := range []bool{false, true} {
		toy := toyPieces()
		tokenizer := newPieceTokenizer(toy.pieces[:10], unigram, toy.normalizer) // no bytes
		for text, want := range map[string][]int32{
			"":            nil,
			"   ":         nil,
			"x":           {3, 0},
			"xyz":         {3, 0}, // one unknown piece for all
			"x.y":         {3, 0, 6, 0},
			"<pad>":       {3, 0},
			"<|en|>":      {3, 0},
			"\xff\xfe":    {3, 0},
			" . ":         {3, 6},
			"..":          {3, 6, 6},
			"\u2581 .":    {3, 3, 3, 6},
			". . .":       {3, 6, 3, 6, 3, 6},
			"never":       {3, 0},
			"\u0000.":     {3, 0, 6},
			"((":          {8, 0},
			"( (":         {8, 8},
			" \u2581( x ": {3, 8, 3, 0},
		} {
			if got := tokenizer.Encode(text); !slices.Equal(got, want) {
				t.Errorf("unigram %v: Encode(%q) = %v, want %v", unigram, text, got, want)
			}
		}
		if got := tokenizer.Encode(strings.Repeat("(", 100_000)); len(got) != 2 {
			t.Errorf("unigram %v: a long word is %d pieces", unigram, len(got))
		}
	}
	if got, want := toyPieces().Encode("é."), []int32{3, 10, 11, 6}; !slices.Equal(got, want) {
		t.Errorf("by bytes: %v, want %v", got, want)
	}
	if got := newPieceTokenizer(nil, true, pieceNormalizer{}).Encode("x"); len(got) != 0 {
		t.Errorf("an empty vocabulary encodes: %v", got)
	}
}
