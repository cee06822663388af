package models

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

// unknownPenalty is how much worse than the worst piece an unknown character is
// for a unigram model (kUnkPenalty in src/unigram_model.cc of google/sentencepiece).
const unknownPenalty = 10

// rankPieces prepares Encode.
func (t *PieceTokenizer) rankPieces() {
	order := make([]int32, 0, len(t.pieces))
	t.byteIDs = map[byte]int32{}
	for id, p := range t.pieces {
		switch {
		case p.kind == bytePiece:
			if b, ok := pieceByte(p.text); ok {
				t.byteIDs[b] = int32(id)
			}
		case t.ids[p.text] == int32(id) && (p.kind == normalPiece || p.kind == userPiece) && !t.Special(int32(id)):
			order = append(order, int32(id))
			t.longest = max(t.longest, len(p.text))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(t.pieces[b].score, t.pieces[a].score) })
	t.ranks = make(map[string]int32, len(order))
	rank := int32(-1)
	for i, id := range order {
		if i == 0 || t.pieces[id].score != t.pieces[order[i-1]].score {
			rank++
		}
		t.ranks[t.pieces[id].text] = rank
	}
}

func (t *PieceTokenizer) rank(part string) (int32, bool) {
	rank, ok := t.ranks[part]
	return rank, ok
}

func (t *PieceTokenizer) longestPart() int { return t.longest }

// Encode returns the pieces of a text, as SentencePiece finds them: for BPE by
// joining the pair of the highest score until there is none, for a unigram
// model by the highest sum of scores. Special pieces are never made from text. A
// stretch of characters that are in no piece is one unknown piece, or its bytes
// where the vocabulary has them; where it has neither, it is left out.
func (t *PieceTokenizer) Encode(text string) []int32 {
	text = t.normalizer.normalize(text)
	e := pieceEncoder{PieceTokenizer: t}
	if t.unigram {
		for _, part := range t.bestParts(text) {
			e.add(part)
		}
		return e.ids
	}
	var m merger
	m.merge(t, text, firstRune, e.add)
	return e.ids
}

func firstRune(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	return n
}

// pieceEncoder collects the ids of parts.
type pieceEncoder struct {
	*PieceTokenizer
	ids []int32
}

func (e *pieceEncoder) add(part string) {
	if _, ok := e.ranks[part]; ok {
		e.ids = append(e.ids, e.PieceTokenizer.ids[part])
		return
	}
	if len(e.byteIDs) > 0 {
		for i := range len(part) {
			if id, ok := e.byteIDs[part[i]]; ok {
				e.ids = append(e.ids, id)
			}
		}
		return
	}
	if n := len(e.ids); e.unknown >= 0 && (n == 0 || e.ids[n-1] != e.unknown) {
		e.ids = append(e.ids, e.unknown)
	}
}

// bestParts splits a text so that the sum of the pieces' scores is the highest.
func (t *PieceTokenizer) bestParts(text string) []string {
	worst := float32(0)
	for _, p := range t.pieces {
		worst = min(worst, p.score)
	}
	// sums[i] is the best sum of a split of the first i bytes, and from[i] where
	// its last part begins.
	sums, from := make([]float32, len(text)+1), make([]int, len(text)+1)
	for i := range sums[1:] {
		sums[i+1] = float32(math.Inf(-1))
	}
	for begin := 0; begin < len(text); begin += firstRune(text[begin:]) {
		// The reference compares in double precision and keeps the sum in single,
		// which decides between splits into the same pieces in another order.
		offer := func(end int, score float32) {
			if sum := float64(sums[begin]) + float64(score); sum > float64(sums[end]) {
				sums[end], from[end] = float32(sum), begin
			}
		}
		one := begin + firstRune(text[begin:])
		if _, known := t.ranks[text[begin:one]]; !known {
			offer(one, worst-unknownPenalty)
		}
		for end := one; end-begin <= t.longest; end += firstRune(text[end:]) {
			if _, known := t.ranks[text[begin:end]]; known {
				offer(end, t.pieces[t.ids[text[begin:end]]].score)
			}
			if end == len(text) {
				break
			}
		}
	}
	var parts []string
	for end := len(text); end > 0; end = from[end] {
		parts = append(parts, text[from[end]:end])
	}
	slices.Reverse(parts)
	return parts
}
