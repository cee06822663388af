package whisper

import (
	"strings"

	"hark/engine"
)

const (
	framesPerSecond = 100
	// framesPerTimestamp: a timestamp step is one encoder position.
	framesPerTimestamp = framesPerPosition
)

// segment is a segment in the making: times in seconds from the start of its chain.
type segment struct {
	start, end float64
	seek       int
	text       string
	tokens     []int32
	logProbs   []float32 // of these
	outcome    *outcome
	ratio      float64
	words      []timedWord
}

// cut divides a pass's tokens into segments at its timestamps and says how many frames the pass has
// dealt with. closed reports that the last timestamp stands alone: nothing is said after it. seek and size are the
// pass's start and length in frames (openai/whisper, transcribe.py, transcribe).
func (v *vocabulary) cut(out *outcome, seek, size int) (segments []segment, advance int, closed bool) {
	tokens := out.tokens
	n := len(tokens)
	closed = n >= 2 && !v.isTimestamp(tokens[n-2]) && v.isTimestamp(tokens[n-1])
	offset := float64(seek) / framesPerSecond
	at := func(id int32) float64 {
		return offset + float64(id-v.firstTimestamp)*framesPerTimestamp/framesPerSecond
	}

	var ends []int // each pair of timestamps ends a segment after its first one
	for i := 1; i < n; i++ {
		if v.isTimestamp(tokens[i-1]) && v.isTimestamp(tokens[i]) {
			ends = append(ends, i)
		}
	}
	if len(ends) == 0 {
		end := offset + float64(size)/framesPerSecond
		for i := n - 1; i >= 0; i-- {
			if v.isTimestamp(tokens[i]) {
				if tokens[i] != v.firstTimestamp {
					end = at(tokens[i])
				}
				break
			}
		}
		return []segment{v.segment(out, 0, n, offset, end, seek)}, size, closed
	}
	if closed {
		ends = append(ends, n)
	}
	last := 0
	for _, end := range ends {
		part := tokens[last:end]
		segments = append(segments, v.segment(out, last, end, at(part[0]), at(part[len(part)-1]), seek))
		last = end
	}
	if closed {
		return segments, size, true
	}
	// The last segment was not finished: the next pass starts where the last finished one ended.
	return segments, int(tokens[last-1]-v.firstTimestamp) * framesPerTimestamp, false
}

// segment is made of the tokens [first, last) of a pass.
func (v *vocabulary) segment(out *outcome, first, last int, start, end float64, seek int) segment {
	tokens := out.tokens[first:last]
	return segment{
		start: start, end: end, seek: seek, tokens: tokens, logProbs: out.logProbs[first:last], outcome: out,
		text: v.decode(tokens),
	}
}

// spelling is the ordinary tokens among a segment's.
func (v *vocabulary) spelling(s *segment) []engine.Token {
	var spelling []engine.Token
	for i, id := range s.tokens {
		if v.isText(id) {
			spelling = append(spelling, engine.Token{Bytes: v.tokenizer.Bytes(id), LogProb: s.logProbs[i]})
		}
	}
	return spelling
}

// decode is the text of the ordinary tokens among ids.
func (v *vocabulary) decode(ids []int32) string {
	if v.tokenizer == nil {
		return ""
	}
	return v.tokenizer.Decode(v.text(ids))
}

// isEmpty reports whether a segment says nothing.
func (s *segment) isEmpty() bool { return s.start == s.end || strings.TrimSpace(s.text) == "" }

// result is the segment as callers get it, its times moved by offset seconds and bounded by limit.
func (s *segment) result(offset, limit float64, words bool) engine.Segment {
	clamp := func(t float64) float64 { return hundredths(min(max(t+offset, 0), limit)) }
	r := engine.Segment{
		Seek:  s.seek + int(offset*framesPerSecond+0.5),
		Start: clamp(s.start), End: clamp(s.end),
		Text: s.text, Tokens: s.tokens,
		Temperature: s.outcome.temp, AvgLogProb: s.outcome.avgLogProb,
		CompressionRatio: s.ratio, NoSpeechProb: s.outcome.noSpeech,
	}
	if words {
		r.Words = make([]engine.Word, len(s.words))
		for i, w := range s.words {
			r.Words[i] = engine.Word{Text: w.text, Start: clamp(w.start), End: clamp(w.end), Probability: w.probability}
		}
		spread(r.Words, limit)
	}
	return r
}

// minWord is what a word lasts at least, in seconds: one encoder position, which attention can't tell apart.
const minWord = 0.02

// spread gives words that attention put on one place minWord each, at their neighbours' cost, none beyond limit.
func spread(words []engine.Word, limit float64) {
	for i := range words {
		w := &words[i]
		if i > 0 {
			w.Start = max(w.Start, words[i-1].End)
		}
		w.End = hundredths(max(w.End, w.Start+minWord))
	}
	for i := len(words) - 1; i >= 0 && words[i].End > limit; i-- {
		w := &words[i]
		w.End = hundredths(limit)
		w.Start = hundredths(max(0, min(w.Start, limit-minWord)))
		limit = w.Start
	}
}
