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

// sink takes a decoder's blocks, mixes them to mono or takes their channels apart,
// resamples them and keeps the result. All limits on the output are kept here, for
// all decoders alike.
type sink struct {
	ctx  context.Context
	opt  Options
	info Info

	rate     int           // of the blocks now
	channels int           // of the blocks now
	mix      *mixer        // nil where channels are kept apart
	lines    []*line       // one for the mix, or one for each channel
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

// frameFaults notes what was wrong with a stream of frames: how many did not decode, how many bytes lay between frames,
// and how many there are of a last one that is not whole.
func (s *sink) frameFaults(bad, passed, cut int) {
	if bad > 0 {
		s.faults(fmt.Sprintf("%d damaged frames were replaced by silence", bad))
	}
	if passed > 0 {
		s.faults(fmt.Sprintf("%d bytes between frames were passed over", passed))
	}
	if cut > 0 {
		s.faults(fmt.Sprintf("truncated: the last frame has only %d bytes", cut))
	}
}

// opened reports whether any blocks were announced.
func (s *sink) opened() bool { return s.lines != nil }

// open sets the form of the blocks to come. It is called before write, and again
// where a file goes on in another form.
func (s *sink) open(rate int64, channels int) error {
	if rate < minRate || rate > maxRate {
		return fmt.Errorf("a sample rate of %d Hz is absurd: %d to %d are taken", rate, minRate, maxRate)
	}
	if channels < 1 || channels > maxChannels {
		return fmt.Errorf("%d channels: 1 to %d are taken", channels, maxChannels)
	}
	if s.opened() {
		if int(rate) == s.rate && channels == s.channels {
			return nil
		}
		if err := s.flush(); err != nil {
			return err
		}
		s.before = durationOf(int64(s.lines[0].samples()), SampleRate)
		s.frames = 0
	} else {
		s.info.SampleRate, s.info.Channels = int(rate), channels
		if err := s.makeLines(channels); err != nil {
			return err
		}
	}
	s.rate, s.channels = int(rate), channels
	if !s.opt.Separate {
		s.mix = newMixer(s.info.Codec, channels, s.rate)
	}
	for _, l := range s.lines {
		l.rs = newResampler(s.rate, SampleRate)
	}
	if s.opt.meter != nil {
		s.opt.meter.open(s.rate, channels)
	}
	return nil
}

// makeLines makes room for the channels of the result.
func (s *sink) makeLines(channels int) error {
	n := 1
	if s.opt.Separate {
		if n = channels; n > MaxSeparate {
			return &ChoiceError{What: "channels", Got: n, Have: MaxSeparate}
		}
	}
	s.lines = make([]*line, n)
	for i := range s.lines {
		s.lines[i] = &line{store: store{opt: s.opt.Storage, memory: s.opt.Storage.Memory / int64(n)}}
	}
	return nil
}

// expect makes room for sample frames to come. certain says that they are there;
// then a limit that they exceed is reported at once. What is not certain is a
// header's claim or a guess: it gets no more room than its file has bytes.
func (s *sink) expect(frames int64, certain bool, fileBytes int64) error {
	rate := int64(s.info.SampleRate)
	if got := durationOf(frames, rate); s.opt.MaxDuration > 0 && got > s.opt.MaxDuration {
		if certain {
			return &LimitError{What: "duration", Got: got, Max: s.opt.MaxDuration}
		}
		frames = int64(s.opt.MaxDuration/time.Second+1) * rate
	}
	if !certain {
		frames = min(frames, fileBytes)
	}
	for _, l := range s.lines {
		l.store.expect(int(frames/rate*SampleRate + frames%rate*SampleRate/rate + 1))
	}
	return nil
}

// expectBytes is expect for plain samples that stand from pos on and claim a size. Of
// an upload that is all there it's known whether they lie.
func (s *sink) expectBytes(in *input, pos, claimed int64, frameBytes int) error {
	if in.whole() {
		claimed = max(0, min(claimed, in.size-pos))
	}
	return s.expect(claimed/int64(frameBytes), in.whole(), in.soFar())
}

// write takes interleaved samples, whole sample frames of them. The block may
// be changed and is not kept.
func (s *sink) write(block []float32) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	s.clean(block)
	if s.opt.meter != nil {
		s.opt.meter.write(block)
	}
	s.frames += int64(len(block) / s.channels)
	if got := s.duration(); s.opt.MaxDuration > 0 && got > s.opt.MaxDuration {
		return &LimitError{What: "duration", Got: got, Max: s.opt.MaxDuration}
	}
	if s.mix != nil {
		s.mono = s.mix.mix(s.mono[:0], block)
		return s.lines[0].write(s.mono)
	}
	for i, l := range s.lines {
		s.mono = pickChannel(s.mono[:0], block, i, s.channels)
		if err := l.write(s.mono); err != nil {
			return err
		}
	}
	return nil
}

// pickChannel appends one channel of interleaved samples to dst; silence if the
// blocks have less channels by now.
func pickChannel(dst, block []float32, channel, channels int) []float32 {
	for i := 0; i < len(block); i += channels {
		v := float32(0)
		if channel < channels {
			v = block[i+channel]
		}
		dst = append(dst, v)
	}
	return dst
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
	return s.before + durationOf(s.frames, int64(s.rate))
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

// flush takes out what the mixer and the resamplers hold.
func (s *sink) flush() error {
	if s.mix != nil {
		if err := s.lines[0].write(s.mix.flush(s.mono[:0])); err != nil {
			return err
		}
	}
	for _, l := range s.lines {
		if err := l.flush(); err != nil {
			return err
		}
	}
	return nil
}

// finish flushes what the mixer and the resamplers hold and returns the result.
func (s *sink) finish() (*PCM, error) {
	if !s.opened() {
		return nil, ErrEmpty
	}
	if err := s.flush(); err != nil {
		return nil, err
	}
	if s.lines[0].samples() == 0 {
		return nil, ErrEmpty
	}
	pcm := &PCM{}
	for _, l := range s.lines {
		x, err := l.whole()
		if err != nil {
			pcm.Close()
			return nil, err
		}
		pcm.kept = append(pcm.kept, x)
		pcm.Channels = append(pcm.Channels, x.x)
	}
	pcm.Samples, pcm.Info = pcm.Channels[0], s.found(nil)
	return pcm, nil
}

// close gives back what the result lies in, unless finish gave it away.
func (s *sink) close() {
	for _, l := range s.lines {
		l.store.close()
	}
}

// found is what is known about the upload by now. limit is what ended decoding, or
// nil.
func (s *sink) found(limit *LimitError) Info {
	if s.garbage > 0 {
		s.faults(fmt.Sprintf("%d samples were NaN, infinite or absurdly large and were silenced", s.garbage))
	}
	if s.overload > 0 {
		s.faults(fmt.Sprintf("%d samples were beyond full scale and were clipped", s.overload))
	}
	if s.opt.meter == nil { // which says the same of the samples as they were
		s.offsets()
	}
	s.info.Duration = s.duration()
	if limit != nil {
		s.info.Duration = limit.Got
	}
	s.info.single()
	return s.info
}

// offsets notes constant offsets that were taken out.
func (s *sink) offsets() {
	for i, l := range s.lines {
		switch v := 100 * l.offset.offset(); {
		case v == 0:
		case len(s.lines) == 1:
			s.faults(fmt.Sprintf("dc offset: the samples lay %.0f%% of full scale off the middle", v))
		default:
			s.faults(fmt.Sprintf("dc offset: the samples of channel %d lay %.0f%% of full scale off the middle", i, v))
		}
	}
}

// errAbsent is what a decoder reports when a container holds not one frame.
var errAbsent = errors.New("no audio frame could be decoded")
