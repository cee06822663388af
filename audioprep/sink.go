package audioprep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// minRate and maxRate bound what is believed to be a sample rate. Below, a few
// bytes would unfold to hours; above, nothing was ever recorded.
const (
	minRate = 4000
	maxRate = 768000
)

// loudest is the largest sample of a float file that is taken for audio that
// was mixed too hot and is clipped; beyond it the number is garbage and becomes
// silence.
const loudest = 256

// pieceSamples is how long the result grows in one piece, 17 minutes. A longer one of
// unknown length goes on in another: to grow by copying would take its size twice
// over, and leave what it outgrew to be collected.
const pieceSamples = 1 << 24

// sink takes a decoder's blocks, mixes them to mono, resamples them and keeps
// the result. All limits on the output are kept here, for all decoders alike.
type sink struct {
	ctx  context.Context
	max  time.Duration
	info Info

	mix      *mixer
	rs       *resampler
	full     [][]float32   // of the result: pieces of pieceSamples and more
	out      []float32     // and what follows them
	frames   int64         // sample frames taken so far in this form
	before   time.Duration // of what was taken in other forms
	mono     []float32
	garbage  int64 // samples that were NaN, infinite or absurd
	overload int64 // samples beyond full scale
}

// faults notes what was wrong. Files can be wrong in a thousand places: after
// some, the rest is cut off.
func (s *sink) faults(text ...string) {
	const most = 20
	for _, t := range text {
		if len(s.info.Faults) < most {
			s.info.Faults = append(s.info.Faults, t)
		} else if len(s.info.Faults) == most {
			s.info.Faults = append(s.info.Faults, "and more")
		}
	}
}

// open sets the form of the blocks to come. It is called before write, and again
// where a file goes on in another form.
func (s *sink) open(rate int64, channels int) error {
	if rate < minRate || rate > maxRate {
		return fmt.Errorf("a sample rate of %d Hz is absurd: %d to %d are taken", rate, minRate, maxRate)
	}
	if channels < 1 || channels > maxChannels {
		return fmt.Errorf("%d channels: 1 to %d are taken", channels, maxChannels)
	}
	if s.rs != nil {
		if int(rate) == s.rs.from && channels == s.mix.channels {
			return nil
		}
		s.flush()
		s.before = durationOf(int64(s.samples()), SampleRate)
		s.frames = 0
	} else {
		s.info.SampleRate, s.info.Channels = int(rate), channels
	}
	s.mix = newMixer(channels, int(rate))
	s.rs = newResampler(int(rate), SampleRate)
	return nil
}

// expect makes room for sample frames to come. certain says that they are there;
// then a limit that they exceed is reported at once. What is not certain is a
// header's claim or a guess: it gets no more room than its file has bytes.
func (s *sink) expect(frames int64, certain bool, fileBytes int64) error {
	rate := int64(s.info.SampleRate)
	if got := durationOf(frames, rate); s.max > 0 && got > s.max {
		if certain {
			return &LimitError{What: "duration", Got: got, Max: s.max}
		}
		frames = int64(s.max/time.Second+1) * rate
	}
	if !certain {
		frames = min(frames, fileBytes)
	}
	if s.out != nil || s.full != nil {
		return nil // more of a file whose beginning made the room
	}
	s.out = make([]float32, 0, frames/rate*SampleRate+frames%rate*SampleRate/rate+1)
	return nil
}

// write takes interleaved samples, whole sample frames of them. The block may
// be changed and is not kept.
func (s *sink) write(block []float32) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	s.clean(block)
	s.frames += int64(len(block) / s.mix.channels)
	if got := s.duration(); s.max > 0 && got > s.max {
		return &LimitError{What: "duration", Got: got, Max: s.max}
	}
	s.mono = s.mix.mix(s.mono[:0], block)
	s.makeRoom()
	s.out = s.rs.write(s.out, s.mono)
	return nil
}

// makeRoom begins another piece where this one would have to be copied to grow.
func (s *sink) makeRoom() {
	most := len(s.mono)*SampleRate/s.rs.from + 1024 // what the resampler still holds included
	if len(s.out) >= pieceSamples && len(s.out)+most > cap(s.out) {
		s.full = append(s.full, s.out)
		s.out = make([]float32, 0, pieceSamples+most)
	}
}

// samples is how long the result is by now.
func (s *sink) samples() int {
	n := len(s.out)
	for _, piece := range s.full {
		n += len(piece)
	}
	return n
}

// join puts the pieces together.
func (s *sink) join() {
	if s.full == nil {
		return
	}
	whole := make([]float32, 0, s.samples())
	for _, piece := range s.full {
		whole = append(whole, piece...)
	}
	s.out, s.full = append(whole, s.out...), nil
}

// clean replaces what is no sample and counts it.
func (s *sink) clean(block []float32) {
	for i, v := range block {
		if v >= -1 && v <= 1 {
			continue
		}
		if v >= -loudest && v <= loudest {
			s.overload++
			block[i] = max(-1, min(v, 1))
			continue
		}
		s.garbage++ // also NaN, which fails every comparison
		block[i] = 0
	}
}

func (s *sink) duration() time.Duration {
	return s.before + durationOf(s.frames, int64(s.rs.from))
}

// durationOf is how long so many sample frames last, without overflow.
func durationOf(frames, rate int64) time.Duration {
	if rate == 0 {
		return 0
	}
	sec := frames / rate
	if sec >= math.MaxInt64/int64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(sec)*time.Second + time.Duration(frames%rate)*time.Second/time.Duration(rate)
}

// flush takes out what the mixer and the resampler hold.
func (s *sink) flush() {
	s.mono = s.mix.flush(s.mono[:0])
	s.out = s.rs.write(s.out, s.mono)
	s.out = s.rs.flush(s.out)
}

// finish flushes what the mixer and the resampler hold and returns the result.
func (s *sink) finish() (*PCM, error) {
	if s.rs == nil {
		return nil, ErrEmpty
	}
	s.flush()
	s.join()
	if len(s.out) == 0 {
		return nil, ErrEmpty
	}
	// The filter rings beyond full scale beside clipped peaks.
	for i, v := range s.out {
		s.out[i] = max(-1, min(v, 1))
	}
	if s.garbage > 0 {
		s.faults(fmt.Sprintf("%d samples were NaN, infinite or absurdly large and were silenced", s.garbage))
	}
	if s.overload > 0 {
		s.faults(fmt.Sprintf("%d samples were beyond full scale and were clipped", s.overload))
	}
	s.info.Duration = s.duration()
	return &PCM{Samples: s.out, Info: s.info}, nil
}

// errAbsent is what a decoder reports when a container holds not one frame.
var errAbsent = errors.New("no audio frame could be decoded")
