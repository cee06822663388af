package whisper

import "hark/engine"

// mergeOverlap lets every word of the stretch that chain i shares with the one before it be said once.
func (j *job) mergeOverlap(i int) {
	left, right := j.chains[i-1], j.chains[i]
	from, to := right.offset(), right.offset()+float64(j.spans[i].Overlap)/engine.SampleRate
	leftEnd, rightStart := engine.OverlapBorder(left.heard(), right.heard(), from, to)
	left.keepWords(func(middle float64) bool { return middle < leftEnd })
	right.keepWords(func(middle float64) bool { return middle >= rightStart })
}

// offset is when the chain starts, in seconds from the start of the audio.
func (c *chain) offset() float64 { return float64(c.start) / engine.SampleRate }

// heard are the chain's words as merged so far, their times the audio's.
func (c *chain) heard() []engine.Word {
	var words []engine.Word
	for _, s := range c.merged {
		for _, w := range s.words {
			words = append(words, engine.Word{Text: w.text, Start: w.start + c.offset(), End: w.end + c.offset()})
		}
	}
	return words
}

// keepWords drops the words that keep refuses by their middle, in the audio's time, and the segments that are left with
// none.
func (c *chain) keepWords(keep func(middle float64) bool) {
	var segments []segment
	for _, s := range c.merged {
		var words []timedWord
		for i := range s.words {
			if keep(c.offset() + (s.words[i].start+s.words[i].end)/2) {
				words = append(words, s.words[i])
			}
		}
		if len(words) == len(s.words) {
			segments = append(segments, s)
			continue
		}
		if len(words) == 0 {
			continue
		}
		s.words, s.tokens, s.logProbs, s.text = words, nil, nil, ""
		for _, w := range words {
			s.text += w.text
			s.tokens, s.logProbs = append(s.tokens, w.tokens...), append(s.logProbs, w.logProbs...)
		}
		s.start, s.end = words[0].start, words[len(words)-1].end
		segments = append(segments, s)
	}
	c.merged = segments
}
