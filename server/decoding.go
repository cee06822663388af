package server

import (
	"context"
	"fmt"
	"io"
	"time"

	"hark/audioprep"
)

// Choice says what of a file is to be heard.
type Choice struct {
	// Track is the number of an audio track, from 1; 0 is the file's default.
	Track int
	// Separate hears every channel by itself, as a speaker. Else they are mixed.
	Separate bool
}

// decodedMemory is how many bytes of one upload's decoded audio stay in memory: four minutes. More goes to a file.
const decodedMemory = 16 << 20

func (t *Transcriber) decodeOptions(limit time.Duration, c Choice) audioprep.Options {
	return audioprep.Options{
		MaxDuration: limit, Track: c.Track, Separate: c.Separate, FFmpeg: t.cfg.FFmpeg,
		Storage: audioprep.Storage{Memory: decodedMemory, Dir: t.cfg.SpoolDir, Budget: t.gate},
	}
}

// decode takes audio to samples, which are the caller's to close.
func (t *Transcriber) decode(ctx context.Context, audio io.ReadSeeker, c Choice) (pcm *audioprep.PCM, err error) {
	err = t.clipFirst(ctx, audio, func(limit time.Duration) (err error) {
		if _, err := audio.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("audio: %w", err)
		}
		pcm, err = audioprep.Decode(ctx, audio, t.decodeOptions(limit, c))
		return err
	})
	return pcm, err
}

// Decoding is audio that is decoded in the background, perhaps while it arrives. Close it.
type Decoding struct {
	choice Choice
	cancel context.CancelFunc
	done   chan struct{} // closed when the rest is set
	pcm    *audioprep.PCM
	err    error
}

// Decode begins to decode audio. failed, if not nil, is told what is wrong with the audio as
// soon as that is known, unless ctx has ended.
func (t *Transcriber) Decode(ctx context.Context, audio io.ReadSeeker, c Choice, failed func(error)) *Decoding {
	ctx, cancel := context.WithCancel(ctx)
	d := &Decoding{choice: c, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		d.pcm, d.err = t.decode(ctx, audio, c)
		if d.err != nil && ctx.Err() == nil && failed != nil {
			failed(d.err)
		}
	}()
	return d
}

// take returns the samples once they are there. They are the caller's then.
func (d *Decoding) take(ctx context.Context) (*audioprep.PCM, error) {
	select {
	case <-d.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	pcm := d.pcm
	d.pcm = nil
	return pcm, d.err
}

// Close ends decoding, and returns when its audio is not read any more.
func (d *Decoding) Close() {
	d.cancel()
	<-d.done
	if d.pcm != nil {
		d.pcm.Close()
		d.pcm = nil
	}
}
