package models

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"
)

// pieceNormalizer is what SentencePiece does to a text before it looks for
// pieces (src/normalizer.cc in google/sentencepiece).
type pieceNormalizer struct {
	chars    charsmap
	prefix   bool // a space is put before the text
	collapse bool // spaces at both ends are dropped, runs of them are one
}

// normalize returns the text with U+2581 for its spaces.
func (n *pieceNormalizer) normalize(text string) string {
	text = n.chars.replace(text)
	if n.collapse {
		text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' }), " ")
	}
	if text == "" {
		return ""
	}
	if n.prefix {
		text = " " + text
	}
	return strings.ReplaceAll(text, " ", wordStart)
}

// charsmap replaces sequences of characters, such as wide letters by plain ones.
// It is a trie of bytes as a double array (the unit's layout is that of
// include/darts.h in s-yata/darts-clone), whose values are offsets into texts
// that end with a NUL. The zero value replaces nothing.
type charsmap struct {
	units []byte // 4 bytes each
	texts string
}

// parseCharsmap reads a precompiled_charsmap: u32 bytes of the trie, the trie,
// the texts. It keeps nothing of data, which may be a file that is closed while the
// tokenizer lives.
func parseCharsmap(data []byte) (charsmap, error) {
	if len(data) == 0 {
		return charsmap{}, nil
	}
	if len(data) < 4 {
		return charsmap{}, errors.New("the map of characters is truncated")
	}
	size := binary.LittleEndian.Uint32(data)
	if uint64(size) > uint64(len(data)-4) || size%4 != 0 {
		return charsmap{}, errors.New("the map of characters is truncated")
	}
	return charsmap{bytes.Clone(data[4 : 4+size]), string(data[4+size:])}, nil
}

// replace returns the text with the longest sequences that the map knows
// replaced, from the left. Bytes that are not UTF-8 become U+FFFD.
func (c charsmap) replace(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		if n, to := c.longest(text); n > 0 {
			out.WriteString(to)
			text = text[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		out.WriteRune(r)
		text = text[n:]
	}
	return out.String()
}

// longest returns the length of the longest sequence at the start of the text
// that the map knows, and what replaces it.
func (c charsmap) longest(text string) (n int, to string) {
	unit, ok := c.unit(0)
	at := children(0, unit)
	for i := 0; ok && i < len(text); i++ {
		place := at ^ uint32(text[i])
		if unit, ok = c.unit(place); !ok || unit&(1<<31|0xff) != uint32(text[i]) {
			break
		}
		at = children(place, unit)
		if unit>>8&1 == 0 {
			continue // no sequence ends here
		}
		if leaf, there := c.unit(at); there {
			if value, found := c.text(leaf &^ (1 << 31)); found {
				n, to = i+1, value
			}
		}
	}
	return n, to
}

// unit returns an entry of the double array.
func (c charsmap) unit(at uint32) (uint32, bool) {
	if uint64(at)*4+4 > uint64(len(c.units)) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(c.units[4*at:]), true
}

// children returns where the children of the entry at a place begin: each lies
// at that number, exclusive-or its byte.
func children(place, unit uint32) uint32 {
	return place ^ unit>>10<<(unit&(1<<9)>>6)
}

func (c charsmap) text(at uint32) (string, bool) {
	if uint64(at) >= uint64(len(c.texts)) {
		return "", false
	}
	text, _, ended := strings.Cut(c.texts[at:], "\x00")
	return text, ended
}
