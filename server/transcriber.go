package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"hark/audioprep"
	"hark/batcher"
	"hark/engine"
)

// maxClipSamples is the longest decoded audio that is a clip: 30 s.
const maxClipSamples = 30 * engine.SampleRate

// TranscriberConfig holds a Transcriber's settings; the zero value is ready to use.
type TranscriberConfig struct {
	// MaxDuration is the longest audio accepted; 0: no limit.
	MaxDuration time.Duration
	// MaxDecodedBytes is how much decoded audio of recordings may lie in memory; 0: no limit.
	MaxDecodedBytes int64
	// Scheduling is how requests share the device; MaxBatch, CostCapMillis and Observer are filled in for each model.
	Scheduling batcher.Config
	// FFmpeg decodes what audioprep does not; nil: nothing does.
	FFmpeg *audioprep.FFmpeg
	// Observer is told about every model's batches, for metrics; nil: nobody is.
	Observer func(model engine.ModelInfo) batcher.Observer
}

// Transcriber takes audio and wishes to a [Transcript]: decode, cut into windows, wait in a lane, run on the model. It keeps one
// batcher for each model in use. The server and the command line share it. It's safe for concurrent use.
type Transcriber struct {
	models *engine.Registry
	cfg    TranscriberConfig
	gate   *decodeGate
	device *batcher.Device       // all models share it
	lost   atomic.Pointer[error] // why a device can't be used any more

	mu     sync.Mutex
	queues map[string]*modelQueue
	closed bool
}

// modelQueue is a model in use and the batcher before it.
type modelQueue struct {
	ref     *engine.Ref
	batcher *batcher.Batcher[engine.Window]
}

// NewTranscriber returns a Transcriber over the models of a registry. The registry stays the caller's and is to be closed
// after the Transcriber.
func NewTranscriber(models *engine.Registry, cfg TranscriberConfig) *Transcriber {
	return &Transcriber{models: models, cfg: cfg, gate: newDecodeGate(cfg.MaxDecodedBytes), device: batcher.NewDevice(), queues: map[string]*modelQueue{}}
}

// Input is one piece of audio to transcribe.
type Input struct {
	// Model is a name that the registry can load.
	Model string
	// Audio is the file, read from its start.
	Audio io.ReadSeeker
	// Options are the wishes.
	Options engine.Options
	// Caller says who asks; callers share the device evenly.
	Caller string
	// Deadline is when an answer is of no use any more; zero means never.
	Deadline time.Time
	// Decoded, if not nil, is called once, when Audio isn't read any more and there was no error yet.
	Decoded func()
	// Progress, if not nil, is called now and then, and last with done = total, while the model works: how much
	// of the audio is done with. The calls come one at a time, the last one before Transcribe returns.
	Progress func(done, total time.Duration)
}

// Transcript is what was heard, and what it took.
type Transcript struct {
	// Result is never nil.
	Result *engine.Result
	// Task is what was asked for.
	Task engine.Task
	// Model is the model that did it, and its device.
	Model engine.ModelInfo
	// Audio says what the upload was, with all that was wrong with it.
	Audio audioprep.Info
	// Duration and Heard are in seconds: of the audio, and of what was left for the model once silence was dropped.
	Duration, Heard float64
	// Lane is where the request waited.
	Lane batcher.Lane
	// Decode, Queue and Compute are the time for reading the audio, waiting, and running on the device.
	Decode, Queue, Compute time.Duration
	// TurnsWaited counts the turns of either lane that it saw before its own.
	TurnsWaited int
}

// Transcribe takes one input to its transcript.
//
// The errors are those of audioprep.Decode (ErrEmpty, *FormatError, *CorruptError, *LimitError), *engine.OptionError for a wish
// that the model can't fulfil, batcher.ErrQueueFull, batcher.ErrDeadline, batcher.ErrClosed, ctx's error when it ends, and whatever
// loading or running the model failed with.
func (t *Transcriber) Transcribe(ctx context.Context, in Input) (*Transcript, error) {
	q, err := t.queue(ctx, in.Model)
	if err != nil {
		return nil, err
	}
	model := q.ref.Model()
	begin := time.Now()
	p, err := t.prepare(ctx, in.Audio, model.Info())
	if err != nil {
		return nil, err
	}
	defer p.release()
	if in.Decoded != nil {
		in.Decoded()
	}

	tr := &Transcript{
		Task:     in.Options.Task,
		Model:    model.Info(),
		Audio:    p.info,
		Duration: seconds(len(p.samples)),
		Decode:   time.Since(begin),
		Lane:     laneOf(len(p.samples)),
	}
	costSamples := 0
	for _, s := range p.spans {
		costSamples += s.End - s.Start
		tr.Heard += seconds(s.End - s.Start - s.Overlap)
	}
	if in.Options.Sequential && len(p.spans) > 0 {
		costSamples, tr.Heard = len(p.samples), tr.Duration
	}
	job, err := model.NewJob(p.samples, p.spans, in.Options)
	if err != nil {
		return nil, err
	}
	if len(p.spans) == 0 { // silence: nothing to run
		tr.Result = &engine.Result{Language: silentLanguage(in.Options, tr.Model)}
		return tr, nil
	}

	request := batcher.Request[engine.Window]{
		Lane:       tr.Lane,
		CostMillis: millis(costSamples),
		Caller:     in.Caller,
		Work:       job,
		Bytes:      int64(len(p.samples)) * 4,
	}
	if !in.Deadline.IsZero() {
		request.Deadline = max(time.Until(in.Deadline), 1)
	}
	stop := watch(job, in.Progress)
	stats, err := q.batcher.Do(ctx, request)
	stop(err == nil)
	if err != nil {
		if errors.Is(err, batcher.ErrFatal) {
			t.lost.CompareAndSwap(nil, &err)
		}
		return nil, err
	}
	tr.Result = job.Result()
	tr.Queue, tr.Compute, tr.TurnsWaited = stats.Queue, stats.Run, stats.TurnsWaited
	return tr, nil
}

// silentLanguage is the language of audio without speech: only what is known beforehand.
func silentLanguage(o engine.Options, info engine.ModelInfo) string {
	if o.Language != "" {
		return o.Language
	}
	if len(info.Languages) == 1 {
		return info.Languages[0]
	}
	return ""
}

// laneOf is the lane for audio of so many samples, silence included, so that a caller can predict it.
func laneOf(samples int) batcher.Lane {
	if samples <= maxClipSamples {
		return batcher.Clips
	}
	return batcher.Recordings
}

func seconds(samples int) float64 { return float64(samples) / engine.SampleRate }

// millis is the length of so many samples in ms, rounded up, so that no work is free.
func millis(samples int) int64 {
	return int64(math.Ceil(float64(samples) * 1000 / engine.SampleRate))
}

// prepared is decoded audio, cut into windows.
type prepared struct {
	samples []float32
	spans   []engine.Span
	info    audioprep.Info
	release func() // gives its memory's share back
}

// prepare decodes audio and cuts it.
func (t *Transcriber) prepare(ctx context.Context, audio io.ReadSeeker, model engine.ModelInfo) (p *prepared, err error) {
	err = t.clipFirst(ctx, func(limit time.Duration) (err error) {
		p, err = t.decode(ctx, audio, limit, model)
		return err
	})
	return p, err
}

// clipFirst decodes within a limit. At first audio is taken for a clip, which has places of its own to decode in, so
// that clips never queue behind hours of audio; what turns out longer goes the recordings' way.
func (t *Transcriber) clipFirst(ctx context.Context, decode func(limit time.Duration) error) error {
	limit := t.cfg.MaxDuration
	clipLimit := time.Duration(maxClipSamples) * time.Second / engine.SampleRate
	if limit == 0 || limit > clipLimit {
		err := inPlace(ctx, t.gate.clips, func() error { return decode(clipLimit) })
		if tooLong := (*audioprep.LimitError)(nil); !errors.As(err, &tooLong) {
			return err
		}
	}
	return inPlace(ctx, t.gate.recordings, func() error { return decode(limit) })
}

// inPlace does work once one of the places is free.
func inPlace(ctx context.Context, places chan struct{}, work func() error) error {
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
		return work()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *Transcriber) decodeOptions(limit time.Duration) audioprep.Options {
	return audioprep.Options{MaxDuration: limit, FFmpeg: t.cfg.FFmpeg}
}

func (t *Transcriber) decode(ctx context.Context, audio io.ReadSeeker, limit time.Duration, model engine.ModelInfo) (*prepared, error) {
	if _, err := audio.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("audio: %w", err)
	}
	pcm, err := audioprep.Decode(ctx, audio, t.decodeOptions(limit))
	if err != nil {
		return nil, err
	}
	release := func() {}
	if laneOf(len(pcm.Samples)) == batcher.Recordings {
		if release, err = t.gate.hold(ctx, int64(len(pcm.Samples))*4); err != nil {
			return nil, err
		}
	}
	windows, err := audioprep.Windows(ctx, pcm.Samples, model.MaxWindowSamples)
	if err != nil {
		release()
		return nil, err
	}
	spans := make([]engine.Span, len(windows))
	for i, w := range windows {
		spans[i] = engine.Span{Start: w.Start, End: w.End, Overlap: w.Overlap}
	}
	return &prepared{samples: pcm.Samples, spans: spans, info: pcm.Info, release: release}, nil
}

// progressEvery is how often Progress is told.
const progressEvery = 100 * time.Millisecond

// watch tells report how a job comes on, until the returned function is called.
func watch(job engine.Job, report func(done, total time.Duration)) (stop func(finished bool)) {
	if report == nil {
		return func(bool) {}
	}
	tell := func(finished bool) {
		done, total := job.Progress()
		if finished {
			done = total
		}
		report(sampleTime(done), sampleTime(total))
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell(false)
			case <-quit:
				return
			}
		}
	}()
	return func(finished bool) {
		close(quit)
		<-ended
		if finished {
			tell(true)
		}
	}
}

func sampleTime(samples int) time.Duration {
	return time.Duration(samples) * time.Second / engine.SampleRate
}
