// Package audioprep turns an upload into what a speech model takes: mono
// float32 samples at 16 kHz, and windows of them cut at silence.
//
// # The way of the data
//
//	bytes ─ Sniff ─► demultiplexer, decoder ─► interleaved float32 blocks
//	      ─ mixer ─► mono ─ resampler ─► 16 kHz ─► PCM ─ Windows ─► stretches for the model
//
// Everything between the bytes and the PCM works in blocks, so memory follows
// what is really in the upload and never what a header claims: a WAV of 4 GB
// "by its header" with 300 kB behind it costs 300 kB.
//
// # Words
//
// A sample is one number of one channel. A sample frame is one sample of every
// channel. The container is the file's outer form (wav, flac, mp3, ogg…), the
// codec is how the samples are written in it (16-bit PCM, µ-law, Layer III…).
// A window is a stretch of samples that the model sees at once.
//
// # What is believed
//
// Only the bytes. File names and content types are never asked for. Headers
// are used where the data bears them out; where they lie, the data wins and
// Info.Faults says so in words. Damage in the middle of a file costs the
// damaged frames, not the file.
//
// # While it arrives
//
// An upload need not be whole: see Arriving. What can be read from front to back
// is decoded as it comes.
//
// # Memory
//
// Storage says how many samples stay in memory; more lie in a file that is mapped.
// Everything else that decoding and the search for speech hold is bounded by what a
// container's parts or a window need, not by how long the audio is.
//
// # What it does not do
//
// It opens no files by name, knows no HTTP, and decodes no more than
//
//   - WAV and its kin (RF64, W64) with PCM, ADPCM and MP3; AIFF and AU with PCM;
//   - CAF with PCM, ALAC and AAC-LC; MP3, FLAC, ADTS AAC;
//   - MP4 and its kin with AAC-LC, ALAC, Opus, FLAC, MP3 and PCM;
//   - Ogg with Opus, Vorbis and FLAC;
//   - WebM and Matroska with these, AAC-LC, ALAC, MP3 and PCM.
//
// Any other goes through a process of ffmpeg, bounded and without a way to other
// files or the network, where Options name one: see FFmpeg. Where they don't, Decode
// returns a *FormatError that names what was found and what is accepted.
package audioprep

import (
	"context"
	"errors"
	"io"
	"time"
)

// SampleRate is the rate of every PCM that Decode returns, in Hz: the rate that
// Whisper and Parakeet were trained at.
const SampleRate = 16000

// Info says what was found in an upload.
type Info struct {
	Container  string // as Sniff names it: "wav", "flac", "mp3", "ogg"…
	Codec      string // "pcm_s16", "mulaw", "flac", "mp3", "opus"…
	SampleRate int    // of the upload, in Hz
	Channels   int    // of the upload
	// Duration is of the audio that was decoded. Where a limit ended that, it is
	// how long the audio is at least.
	Duration time.Duration
	// Tracks are the audio tracks in the file's order, the first 64 of them, and
	// Track is the number of the one that was decoded, from 1.
	Tracks []Track
	Track  int
	// Decoder is what decoded it if this package did not: "ffmpeg 5.1.9".
	Decoder string
	// Faults tells in words what was wrong and repaired or left out, such as
	// "truncated: the data chunk claims 4294967288 bytes, 290400 are there".
	// Nil when nothing was wrong.
	Faults []string
}

// PCM is a decoded upload.
type PCM struct {
	// Samples are mono, 16 kHz, each in [-1, 1] and finite; never empty. They are
	// the mix of all channels, or Channels[0].
	Samples []float32
	// Channels are the channels one by one, all as long as Samples, where
	// Options.Separate was set. Else there is one: Samples.
	Channels [][]float32
	Info     Info

	kept []*samples // of Channels
}

// NewPCM returns mono samples at 16 kHz, at least one, each in [-1, 1] and finite, as what Decode might have returned.
// They are not copied, and stay the caller's too, who must not change them any more.
func NewPCM(x []float32) *PCM {
	return &PCM{
		Samples: x, Channels: [][]float32{x}, kept: []*samples{{x: x}},
		Info: Info{SampleRate: SampleRate, Channels: 1, Duration: time.Duration(len(x)) * time.Second / SampleRate},
	}
}

// Close gives back the memory or the file that the samples lie in. Nobody may look at
// them any more, or at parts of them: those in a file are gone at once. Without Close
// they go when the PCM is collected. A second call does nothing.
func (p *PCM) Close() error {
	var errs []error
	for _, s := range p.kept {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// Abandon is Close while somebody may still look at the samples: their memory no longer
// counts in the budget, a file stays until nobody holds the PCM.
func (p *PCM) Abandon() {
	for _, s := range p.kept {
		if s.mapped == nil {
			s.close()
		}
	}
}

// Decode reads a whole upload from its beginning and returns it as mono 16 kHz
// samples, which the caller owns and closes. The form of the upload is found by its
// content alone.
//
// Errors that lie in the upload are a *DecodeError around ErrEmpty when there are
// no bytes or no samples, *FormatError for a container or codec that is not
// supported, *CorruptError when the form is known but nothing could be decoded,
// *ChoiceError for a track that is not there or too many channels to keep apart,
// *LimitError when there is more audio than the options allow. Others are the
// context's error, a *StorageError and what r returned. A file that is damaged but holds some audio
// is no error: see Info.Faults.
//
// Decode keeps no state; it may be called from many goroutines, each with its
// own reader.
func Decode(ctx context.Context, r io.ReadSeeker, opt Options) (*PCM, error) {
	in, err := newInput(ctx, r)
	if err != nil {
		return nil, err
	}
	s := &sink{ctx: ctx, opt: opt}
	defer func() { s.close() }()
	err = decode(in, s)
	if format := (*FormatError)(nil); errors.As(err, &format) && format.worthTrying() {
		if program := opt.FFmpeg.found(); program != nil {
			s.close()
			s = &sink{ctx: ctx, opt: opt, info: Info{Container: s.info.Container}}
			err = program.decode(in, s, format)
		}
	}
	if err == nil && in.err == nil {
		var pcm *PCM
		if pcm, err = s.finish(); err == nil {
			return pcm, nil
		}
	}
	// What the reader itself reported explains more than what the decoder made
	// of it.
	if in.err != nil {
		return nil, in.err
	}
	var choice *ChoiceError
	if errors.As(err, &choice) {
		err = choice // which is no damage, whoever met it
	}
	if storage := (*StorageError)(nil); errors.As(err, &storage) {
		return nil, storage
	}
	var limit *LimitError
	if !errors.As(err, &limit) && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, &DecodeError{Info: s.found(limit), Err: err}
}

// decode finds out what the upload is and writes its audio to s.
func decode(in *input, s *sink) error {
	if !in.has(1) {
		return ErrEmpty
	}
	name, err := in.sniff()
	if err != nil {
		return err
	}
	s.info.Container = name
	switch name {
	case "mp4":
		return decodeMP4(in, s)
	case "ogg":
		return decodeOgg(in, s)
	case "webm", "matroska":
		return decodeMatroska(in, s, name)
	}
	// The others have one track.
	if s.opt.Track < 0 || s.opt.Track > 1 {
		return &ChoiceError{What: "track", Got: s.opt.Track, Have: 1}
	}
	switch name {
	case "wav":
		return decodeWAV(in, s)
	case "w64":
		return decodeW64(in, s)
	case "flac":
		return decodeFLAC(in, s)
	case "mp3":
		return decodeMP3(in, s)
	case "aac":
		return decodeADTS(in, s)
	case "aiff":
		return decodeAIFF(in, s)
	case "au":
		return decodeAU(in, s)
	case "caf":
		return decodeCAF(in, s)
	}
	return unsupported(name, "")
}
