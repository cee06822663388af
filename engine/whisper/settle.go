package whisper

import (
	"math"

	"hark/engine"
)

// settledSlack is by how much a segment may start before the place where its pass does, in seconds:
// what rounding to hundredths does, and in a sequential chain a first word that shortenAfterPause
// and fitToWords move, by 2 · 0.7 s at most.
const settledSlack, settledSlackInChain = 0.01, 1.5

// Settled implements [engine.Job].
func (j *job) Settled() (segments []engine.Segment, from float64) {
	j.settle()
	segments = j.settled[j.told:]
	j.told = len(j.settled)
	switch {
	case j.final == len(j.chains):
		return segments, math.Inf(1)
	case j.options.Sequential:
		return segments, float64(j.chains[0].seek)/framesPerSecond - settledSlackInChain
	}
	return segments, j.chains[j.final].offset() - settledSlack
}

// settle makes final what can be: chains that have ended, in order, once the stretches that they share with their
// neighbours are merged; of a sequential chain every pass.
func (j *job) settle() {
	for j.final < len(j.chains) {
		c := j.chains[j.final]
		if !c.ended && !j.options.Sequential {
			return
		}
		if j.spans[j.final].Overlap == 0 || j.final == 0 {
			c.merged = c.segments
		}
		if next := j.final + 1; next < len(j.chains) && j.spans[next].Overlap > 0 {
			if !j.chains[next].ended {
				return
			}
			j.chains[next].merged = j.chains[next].segments
			j.mergeOverlap(next)
		}
		j.take(c)
		if !c.ended {
			return
		}
		j.final++
	}
}

// take adds a chain's segments to the final ones, from the first that was not.
func (j *job) take(c *chain) {
	// A model that pads its windows to 30 s may write times, even whole segments, beyond the sound.
	limit := float64(c.start+len(c.samples)) / engine.SampleRate
	for ; c.taken < len(c.merged); c.taken++ {
		s := c.merged[c.taken].result(c.offset(), limit, j.options.WordTimestamps)
		if s.End <= s.Start {
			continue
		}
		if j.options.LogProbs {
			s.Spelling = j.model.vocabulary.spelling(&c.merged[c.taken])
		}
		j.settled = append(j.settled, s)
	}
}
