package models

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordStart is U+2581, which stands for the space before a word in a piece.
const wordStart = "\u2581"

// PieceTokenizer is a SentencePiece vocabulary: it turns the ids of pieces into
// text and text into ids. It is immutable and safe for concurrent use. The
// blank of a transducer is not one of its pieces.
type PieceTokenizer struct {
	pieces  []piece
	texts   []string // of each piece alone
	ids     map[string]int32
	marks   map[rune]bool
	unknown int32 // -1: there is no such piece

	normalizer pieceNormalizer
	unigram    bool             // else BPE
	ranks      map[string]int32 // of the pieces that text may give, the highest score first
	longest    int              // bytes of the longest of them
	byteIDs    map[byte]int32   // of the pieces that stand for bytes; empty if there are none
}

// piece is an entry of the vocabulary.
type piece struct {
	text  string
	score float32
	kind  pieceKind
}

// pieceKind is the type of a piece, with the numbers of the file format
// (sentencepiece_model.proto in google/sentencepiece).
type pieceKind uint8

const (
	normalPiece  pieceKind = 1
	unknownPiece pieceKind = 2
	controlPiece pieceKind = 3
	userPiece    pieceKind = 4 // user-defined: never split
	unusedPiece  pieceKind = 5
	bytePiece    pieceKind = 6 // <0x41>
)

// unknownText is what an unknown piece decodes to.
const unknownText = " \u2047 "

func newPieceTokenizer(pieces []piece, unigram bool, normalizer pieceNormalizer) *PieceTokenizer {
	t := &PieceTokenizer{
		pieces: pieces, ids: make(map[string]int32, len(pieces)), marks: map[rune]bool{}, unknown: -1,
		normalizer: normalizer, unigram: unigram,
	}
	for id, p := range pieces {
		if _, twice := t.ids[p.text]; !twice {
			t.ids[p.text] = int32(id)
		}
		if p.kind == unknownPiece && t.unknown < 0 {
			t.unknown = int32(id)
		}
		t.addMarks(p.text)
	}
	t.texts = make([]string, len(pieces))
	for id := range pieces {
		t.texts[id] = t.join([]int32{int32(id)})
	}
	t.rankPieces()
	return t
}

// addMarks notes the punctuation in a piece within a word.
func (t *PieceTokenizer) addMarks(text string) {
	if strings.HasPrefix(text, wordStart) || strings.HasPrefix(text, "##") || isEnclosed(text, '<', '>') ||
		isEnclosed(text, '[', ']') {
		return
	}
	for _, r := range text {
		if unicode.IsPunct(r) {
			t.marks[r] = true
		}
	}
}

func isEnclosed(text string, open, end byte) bool {
	return len(text) >= 2 && text[0] == open && text[len(text)-1] == end
}

// Len returns the number of pieces, which is also the blank's id.
func (t *PieceTokenizer) Len() int { return len(t.pieces) }

// Piece returns a piece as the vocabulary has it, "▁the", with U+2581 before
// the start of a word; "" for an id that is none.
func (t *PieceTokenizer) Piece(id int32) string {
	if id < 0 || int(id) >= len(t.pieces) {
		return ""
	}
	return t.pieces[id].text
}

// Text returns the text of a piece alone: "the" for "▁the", "" for a bare "▁",
// for special pieces and for an id that is none.
func (t *PieceTokenizer) Text(id int32) string {
	if id < 0 || int(id) >= len(t.texts) {
		return ""
	}
	return t.texts[id]
}

// StartsWord says whether a piece begins with the space before a word.
func (t *PieceTokenizer) StartsWord(id int32) bool {
	return strings.HasPrefix(t.Piece(id), wordStart)
}

// IsMark says whether a text is a punctuation mark that the vocabulary can put
// after a word: one character of Unicode's category P that occurs in a piece
// which starts no word.
func (t *PieceTokenizer) IsMark(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	return n == len(text) && t.marks[r]
}

// Marks returns all characters for which IsMark is true, rising.
func (t *PieceTokenizer) Marks() []rune {
	marks := make([]rune, 0, len(t.marks))
	for r := range t.marks {
		marks = append(marks, r)
	}
	slices.Sort(marks)
	return marks
}

// Special says whether a piece is no text: a control piece, or a name like
// "<|en|>" that a multilingual vocabulary has. The unknown piece is text.
func (t *PieceTokenizer) Special(id int32) bool {
	if id < 0 || int(id) >= len(t.pieces) {
		return false
	}
	p := t.pieces[id]
	return p.kind == controlPiece || p.kind != unknownPiece && p.kind != bytePiece && isEnclosed(p.text, '<', '>')
}

// Decode returns the text of pieces: joined, U+2581 as a space, none at the
// start, and none before a punctuation mark. Special pieces and ids that are none are
// left out. Pieces that stand for single bytes may cut characters: what does
// not join to valid UTF-8 becomes U+FFFD.
func (t *PieceTokenizer) Decode(ids []int32) string {
	text := t.join(ids)
	var out strings.Builder
	space := "" // held back until what follows is known
	for i, r := range text {
		if unicode.IsSpace(r) {
			out.WriteString(space)
			space = text[i : i+len(string(r))]
			continue
		}
		if !t.marks[r] {
			out.WriteString(space)
		}
		space = ""
		out.WriteRune(r)
	}
	out.WriteString(space)
	return out.String()
}

// join is Decode with spaces before marks kept, as SentencePiece has them.
func (t *PieceTokenizer) join(ids []int32) string {
	var raw []byte
	for _, id := range ids {
		if id < 0 || int(id) >= len(t.pieces) || t.Special(id) {
			continue
		}
		switch p := t.pieces[id]; p.kind {
		case unknownPiece:
			raw = append(raw, unknownText...)
		case bytePiece:
			if b, ok := pieceByte(p.text); ok {
				raw = append(raw, b)
			}
		default:
			text := p.text
			if len(raw) == 0 {
				text = strings.TrimPrefix(text, wordStart)
			}
			raw = append(raw, strings.ReplaceAll(text, wordStart, " ")...)
		}
	}
	return replaceInvalid(raw)
}

// pieceByte returns the byte that a piece like <0x0A> stands for.
func pieceByte(text string) (byte, bool) {
	const digits = "0123456789ABCDEF"
	if len(text) != 6 || text[:3] != "<0x" || text[5] != '>' {
		return 0, false
	}
	high, low := strings.IndexByte(digits, text[3]), strings.IndexByte(digits, text[4])
	return byte(high<<4 | low), high >= 0 && low >= 0
}
