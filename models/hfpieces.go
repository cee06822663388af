package models

import (
	"encoding/json"
	"errors"
	"fmt"
)

// parseHFPieces reads the tokenizer.json that transformers makes of a
// SentencePiece vocabulary of n pieces. Added tokens beyond them are the
// transducer's blank.
func parseHFPieces(data []byte, n int) (*PieceTokenizer, error) {
	var file struct {
		Added []struct {
			ID      int32  `json:"id"`
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
		Normalizer hfNormalizer `json:"normalizer"`
		Model      struct {
			Type         string          `json:"type"`
			Vocab        json.RawMessage `json:"vocab"`
			Unknown      string          `json:"unk_token"`
			ByteFallback bool            `json:"byte_fallback"`
		} `json:"model"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Model.Type != "BPE" {
		return nil, fmt.Errorf("model type %q: only BPE is read", file.Model.Type)
	}
	if n > len(data) {
		return nil, fmt.Errorf("%d bytes can't hold a vocabulary of %d", len(data), n)
	}
	pieces := make([]piece, n)
	err := eachToken(file.Model.Vocab, func(text string, id int32) error {
		switch {
		case id < 0 || int(id) > n:
			return fmt.Errorf("id %d of %q is beyond the %d of the configuration", id, text, n)
		case int(id) == n:
			return nil // the blank
		case pieces[id].kind != 0:
			return fmt.Errorf("id %d is given twice", id)
		}
		// Training numbers the pieces in the order of its merges.
		pieces[id] = piece{text, -float32(id), normalPiece}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("vocabulary: %w", err)
	}
	for _, a := range file.Added {
		if a.ID < 0 {
			return nil, fmt.Errorf("added token %q has the id %d", a.Content, a.ID)
		}
		if int(a.ID) < n && a.Special {
			pieces[a.ID] = piece{a.Content, -float32(a.ID), controlPiece}
		}
	}
	for id := range pieces {
		switch p := &pieces[id]; {
		case p.kind == 0:
			return nil, fmt.Errorf("no piece has the id %d", id)
		case p.text == file.Model.Unknown:
			p.kind = unknownPiece
		case file.Model.ByteFallback && isBytePiece(p.text):
			p.kind = bytePiece
		}
	}
	if n == 0 {
		return nil, errors.New("the vocabulary is empty")
	}
	chars, err := file.Normalizer.charsmap()
	if err != nil {
		return nil, err
	}
	return newPieceTokenizer(pieces, false, pieceNormalizer{chars, true, true}), nil
}

// hfNormalizer is SentencePiece's normalisation as transformers writes it: a
// sequence, of which the map of characters is one step; the others are the same
// for all models.
type hfNormalizer struct {
	Charsmap []byte         `json:"precompiled_charsmap"`
	Steps    []hfNormalizer `json:"normalizers"`
}

func (n hfNormalizer) charsmap() (charsmap, error) {
	for _, step := range n.Steps {
		if len(step.Charsmap) > 0 {
			return parseCharsmap(step.Charsmap)
		}
	}
	return parseCharsmap(n.Charsmap)
}

func isBytePiece(text string) bool {
	_, ok := pieceByte(text)
	return ok
}
