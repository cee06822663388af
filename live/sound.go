package live

import (
	"time"

	"hark/audioprep"
)

// sound holds the samples of a session that may still be needed. Places are counted from the session's first sample.
type sound struct {
	from int // the place of the first sample held
	x    []float32
}

// end is the place behind the last sample.
func (s *sound) end() int { return s.from + len(s.x) }

// add appends samples, without changing any that part returned.
func (s *sound) add(x []float32) { s.x = append(s.x, x...) }

// part returns the samples of [from, to), which nobody changes.
func (s *sound) part(from, to int) []float32 {
	return s.x[from-s.from : to-s.from : to-s.from]
}

// forget drops the samples before a place.
func (s *sound) forget(before int) {
	if n := min(before, s.end()) - s.from; n > 0 {
		s.x = s.x[n:]
		s.from += n
	}
}

// samples is how many there are in a time.
func samples(d time.Duration) int { return int(d * audioprep.SampleRate / time.Second) }

// span is how long so many samples are.
func span(samples int) time.Duration {
	return time.Duration(samples) * time.Second / audioprep.SampleRate
}
