package parakeet

import (
	"math"

	"hark/engine"
)

// Settled implements [engine.Job]. Sentences go on from one window to the next, and a mark at the start of one belongs
// to the word before, so the last sentence so far is not final while windows are to come.
func (j *job) Settled() (segments []engine.Segment, from float64) {
	j.settle()
	segments = j.settled[j.told:]
	j.told = len(j.settled)
	if j.final == len(j.windows) {
		return segments, math.Inf(1)
	}
	from = seconds(j.windows[j.final].span.Start)
	if len(j.tail) > 0 {
		from = min(from, j.tail[0].start)
	}
	return segments, from
}

// settle takes over windows that have ended, in order. Where one shares a stretch with the next, both must have
// ended; each word of it is then there once.
func (j *job) settle() {
	for j.final < len(j.windows) && j.windows[j.final].ended {
		w := j.windows[j.final]
		w.speak()
		if next := j.final + 1; next < len(j.windows) && j.windows[next].span.Overlap > 0 {
			n := j.windows[next]
			if !n.ended {
				return
			}
			n.speak()
			from := n.span.Start
			w.spoken, n.spoken = merge(w.spoken, n.spoken, seconds(from), seconds(from+n.span.Overlap))
		}
		at := len(j.tail)
		for _, word := range w.spoken {
			j.tail = append(j.tail, word.tokens...)
		}
		if at < len(j.tail) {
			j.tail[at].first = true
		}
		j.final++
		j.cut()
	}
}

// speak makes words of what was heard in a window.
func (w *window) speak() {
	if w.spoken == nil {
		tokens := w.placed()
		refineTimes(w.job.model.pieces, tokens)
		w.spoken = splitWords(w.job.model.pieces, tokens)
	}
}

// cut makes segments of the sentences that are whole.
func (j *job) cut() {
	v := j.model.pieces
	refineTimes(v, j.tail)
	sentences := splitSentences(splitWords(v, j.tail))
	j.tail = nil
	for i, sentence := range sentences {
		if i == len(sentences)-1 && j.final < len(j.windows) {
			for _, w := range sentence {
				j.tail = append(j.tail, w.tokens...)
			}
			return
		}
		for _, words := range splitLong(nil, sentence) {
			j.add(segmentResult(v, words, seconds(j.samples), &j.options))
		}
	}
}

// add adds a segment to the final ones.
func (j *job) add(s engine.Segment) {
	for j.at+1 < len(j.windows) && seconds(j.windows[j.at+1].span.Start) <= s.Start {
		j.at++
	}
	s.Seek = j.windows[j.at].span.Start / (engine.SampleRate / framesPerSecond)
	j.settled = append(j.settled, s)
}
