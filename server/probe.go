package server

import (
	"context"
	"errors"
	"time"

	"hark/audioprep"
	"hark/batcher"
	"hark/engine"
)

// probe finds out how long an upload's audio is, or what is wrong with it, as far as its beginning shows.
func (s *Server) probe(ctx context.Context, up *upload, c Choice) (time.Duration, error) {
	if err := up.checkFile(); err != nil {
		return 0, err
	}
	length, err := s.transcriber.probe(ctx, up.audio.reader(ctx), c, up.audio.length())
	if err != nil {
		return 0, up.aboutFile(err)
	}
	return length, nil
}

// probe decodes the beginning of audio, a clip at most, to find out what is wrong with it, and returns how long it is:
// for a recording a guess, by how much of the file's bytes its beginning took, but at least what its header proves.
// Less than a clip would not tell clips from recordings, and the 10 to 60 ms that this takes are little beside hearing
// it. What was decoded is not kept, since a job may wait for hours, and for another process.
func (t *Transcriber) probe(ctx context.Context, audio *spoolReader, c Choice,
	bytes int64) (length time.Duration, err error) {
	const clip = maxClipSamples * time.Second / engine.SampleRate
	limit := clip
	if t.cfg.MaxDuration > 0 {
		limit = min(limit, t.cfg.MaxDuration)
	}
	err = inPlace(ctx, t.gate.clips, audio, nil, func() error {
		pcm, err := audioprep.Decode(ctx, audio, t.decodeOptions(limit, c))
		if err == nil {
			length = pcm.Info.Duration
			pcm.Close()
		}
		return err
	})
	if longer := (*audioprep.LimitError)(nil); errors.As(err, &longer) && limit == clip {
		length = time.Duration(float64(clip) * float64(bytes) / float64(max(1, min(audio.pos, bytes))))
		return max(length, longer.Got), nil
	}
	return length, err
}

// check returns the *engine.OptionError of options that a model can't fulfil, if it's loaded.
func (t *Transcriber) check(ctx context.Context, model string, o engine.Options) error {
	if t.loaded(model) == nil {
		return nil
	}
	q, err := t.queue(ctx, model)
	if errors.Is(err, batcher.ErrClosed) {
		return nil // it's just being unloaded
	}
	if err != nil {
		return err
	}
	defer q.Release()
	_, err = q.Model().NewJob(make([]float32, engine.SampleRate), nil, o)
	return err
}
