package models

import (
	"path/filepath"
	"slices"
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

// hfParakeetDir is the small model in transformers' form.
func hfParakeetDir(t testing.TB) string {
	t.Helper()
	return filepath.Dir(sharedFile(t, "models/parakeet-tiny/hf/config.json"))
}

func openParakeet(t testing.TB, path string) *ParakeetModel {
	t.Helper()
	m, err := OpenParakeet(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestPieceTokenizerGolden(t *testing.T) {
	var golden parakeetGolden
	readJSON(t, sharedFile(t, "golden/parakeet/tiny.json"), &golden)
	tokenizer := openParakeet(t, hfParakeetDir(t)).Tokenizer
	for _, u := range golden.Utterances {
		var pieces []string
		for i, id := range u.Tokens {
			pieces = append(pieces, tokenizer.Piece(id))
			if got, want := tokenizer.Text(id), u.Chars[i].Char; got != want {
				t.Errorf("%s: token %d alone is %q, want %q", u.Name, id, got, want)
			}
		}
		if !slices.Equal(pieces, u.Pieces) {
			t.Errorf("%s: pieces %q, want %q", u.Name, pieces, u.Pieces)
		}
		if got := tokenizer.Decode(u.Tokens); got != u.Text {
			t.Errorf("%s: text %q, want %q", u.Name, got, u.Text)
		}
	}
	if got := string(tokenizer.Marks()); got != "!,.?" {
		t.Errorf("marks %q, want those of the vocabulary", got)
	}
	if tokenizer.Len() != 128 {
		t.Errorf("%d pieces, want 128", tokenizer.Len())
	}
}
