package parakeet

import (
	"strings"

	"hark/engine"
)

// sentenceEnds are the marks that end a segment (NeMo 3.0.0, get_segment_offsets).
const sentenceEnds = ".?!"

// maxSegmentSeconds is how long a segment may be before it's divided at a pause, since nobody reads a subtitle
// that holds minutes of speech without a full stop. NeMo has no such bound; sentences are rarely that long.
const maxSegmentSeconds = 15

// splitSentences divides words into sentences, of which the last may not be whole.
func splitSentences(words []spokenWord) [][]spokenWord {
	var sentences [][]spokenWord
	start := 0
	for i, w := range words {
		if strings.ContainsAny(w.text[len(w.text)-1:], sentenceEnds) || i == len(words)-1 {
			sentences = append(sentences, words[start:i+1])
			start = i + 1
		}
	}
	return sentences
}

// splitLong appends words as one segment, or divided at the longest pause between them; of equal ones at
// the one nearest to the middle.
func splitLong(segments [][]spokenWord, words []spokenWord) [][]spokenWord {
	start, end := words[0].start, words[len(words)-1].end
	if end-start <= maxSegmentSeconds || len(words) == 1 {
		return append(segments, words)
	}
	const slack = 1e-6 // of times, in seconds: pauses of the same number of frames are equal
	at, longest, nearest := 0, -1.0, 0.0
	for i := 1; i < len(words); i++ {
		pause := words[i].start - words[i-1].end
		off := max(words[i].start-start, end-words[i].start)
		if pause > longest+slack || pause > longest-slack && off < nearest {
			at, longest, nearest = i, pause, off
		}
	}
	return splitLong(splitLong(segments, words[:at]), words[at:])
}

// segmentResult is a run of words as callers get it, no later than limit, in seconds. Mean
// log-probability and compression ratio are the segment's own. There is no temperature, and no
// probability of silence: a transducer writes nothing where nothing is said, so both are 0. Seek, the
// position of the window in which it starts, is left to the caller.
func segmentResult(v pieces, words []spokenWord, limit float64, o *engine.Options) engine.Segment {
	var s engine.Segment
	sum := 0.0
	for i := range words {
		w := words[i].result(limit)
		s.Text += w.Text
		if o.WordTimestamps {
			s.Words = append(s.Words, w)
		}
		if o.LogProbs {
			s.Spelling = append(s.Spelling, words[i].spelling(v)...)
		}
		for _, t := range words[i].tokens {
			s.Tokens = append(s.Tokens, t.id)
			sum += float64(t.logProb)
		}
	}
	s.Start, s.End = min(words[0].start, limit), min(words[len(words)-1].end, limit)
	s.AvgLogProb = sum / float64(len(s.Tokens))
	s.CompressionRatio = engine.CompressionRatio(s.Text)
	return s
}
