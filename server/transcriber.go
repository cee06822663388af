package server

import (
	"context"
	"errors"
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
	// MaxDecodedBytes is how much decoded audio may lie in memory; what is more goes to files. 0: no limit.
	MaxDecodedBytes int64
	// SpoolDir is the folder for such files; "" is the system's for temporary ones.
	SpoolDir string
	// Scheduling is how requests share the device; MaxBatch, CostCapMillis and Observer are filled in for each model.
	Scheduling batcher.Config
	// FFmpeg decodes what audioprep does not; nil: nothing does.
	FFmpeg *audioprep.FFmpeg
	// Auto are the models among which [AutoModel] finds its two.
	Auto []string
	// Observer is told about every model's batches, for metrics; nil: nobody is.
	Observer func(model engine.ModelInfo) batcher.Observer
	// Charge is told how much audio was decoded for whom, before it waits for the model; nil: nobody is.
	Charge func(caller string, audio time.Duration)
	// Weight is how much of the device a caller gets beside others that wait, as
	// batcher.Request has it; nil: all alike.
	Weight func(caller string) float64
}

// Transcriber takes audio and wishes to a [Transcript]: decode, cut into windows, wait in a lane, run on the model. It
// keeps one batcher for each model in use. The server and the command line share it. It's safe for concurrent use.
type Transcriber struct {
	models *engine.Registry
	cfg    TranscriberConfig
	gate   *decodeGate
	device *batcher.Device       // all models share it
	onCPU  atomic.Bool           // a model computes on the CPU, which decodes too
	lost   atomic.Pointer[error] // why a device can't be used any more

	mu       sync.Mutex
	batchers map[engine.Model]*batcher.Batcher[engine.Window]
	closed   bool
}

// NewTranscriber returns a Transcriber over the models of a registry. The registry stays the caller's
// and is to be closed after the Transcriber.
func NewTranscriber(models *engine.Registry, cfg TranscriberConfig) *Transcriber {
	t := &Transcriber{
		models: models, cfg: cfg, gate: newDecodeGate(cfg.MaxDecodedBytes), device: batcher.NewDevice(),
		batchers: map[engine.Model]*batcher.Batcher[engine.Window]{},
	}
	models.OnClose(t.forget)
	return t
}

// Input is one piece of audio to transcribe.
type Input struct {
	// Model is a name that the registry can load.
	Model string
	// Audio is the file, read from its start.
	Audio io.ReadSeeker
	// Samples are the audio instead, decoded already, mono at 16 kHz; not to be changed any
	// more. They are not charged to the caller.
	Samples []float32
	// Choice says what of it is to be heard.
	Choice Choice
	// Decoding is Audio being decoded already, or nil. It's of use if it was for the same choice. The caller closes it.
	Decoding *Decoding
	// Options are the wishes.
	Options engine.Options
	// Caller says who asks; callers share the device by their weights.
	Caller string
	// Charged says that the caller was charged for the audio before.
	Charged bool
	// Deadline is when an answer is of no use any more; zero means never.
	Deadline time.Time
	// Decoded, if not nil, is called once, when Audio isn't read any more and there was no error yet.
	Decoded func()
	// Opened, if not nil, is called once, when it's known what is to be heard, with all that is known by then: no
	// Result, and none of what running takes. Whatever Heard is told comes after it.
	Opened func(t Transcript)
	// Heard, if not nil, is called with segments as they become final: all calls together give the
	// transcript's segments, in their order, and nothing is taken back. Windows run side by side and may end
	// in any order; what can't be final yet is held back.
	Heard func(segments []engine.Segment)
	// Kept, if not nil, is called with each window as it ends, in whatever order they end, for Resume.
	Kept func(Piece)
	// Resume are pieces that Kept was given when the same audio was transcribed before, by the same model with the same
	// choice and options, in any order. Those windows don't run again, and Kept isn't told of them; the transcript, and
	// what Heard is told, are the same as if they had run. What doesn't fit is passed over.
	Resume []Piece
	// Heard and Kept are called one at a time, on a goroutine of their own, the last time before Transcribe returns,
	// also with an error: they may take their time, but Transcribe waits for them.

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
	// Duration and Heard are in seconds: of the audio, and of what was left for the model once silence was dropped, of
	// all channels together.
	Duration, Heard float64
	// Channels is how many were heard one by one; 1 if they were mixed.
	Channels int
	// Lane is where the request waited.
	Lane batcher.Lane
	// Decode, Queue and Compute are the time for reading the audio, waiting, and running on the device.
	Decode, Queue, Compute time.Duration
	// TurnsWaited counts the turns of either lane that it saw before its own.
	TurnsWaited int
}

// Transcribe takes one input to its transcript.
//
// The errors are those of audioprep.Decode (*DecodeError around ErrEmpty, *FormatError, *CorruptError,
// *ChoiceError, *LimitError; *StorageError), *engine.OptionError for a wish that the model can't fulfil,
// batcher.ErrQueueFull, batcher.ErrDeadline, batcher.ErrClosed, ctx's error when it ends, and whatever
// loading or running the model failed with.
func (t *Transcriber) Transcribe(ctx context.Context, in Input) (*Transcript, error) {
	if in.Model == AutoModel {
		return t.transcribeAuto(ctx, in)
	}
	q, err := t.queue(ctx, in.Model)
	if err != nil {
		return nil, err
	}
	defer q.Release()
	p, tr, err := t.open(ctx, in, q.Model().Info())
	if err != nil {
		return nil, err
	}
	tr.Result, err = t.hear(ctx, q, in, p, tr)
	p.close()
	if err != nil {
		return nil, err
	}
	return tr, nil
}

// open decodes an input and cuts it for a model. What is known of the transcript by then is
// filled in. The caller closes the samples.
func (t *Transcriber) open(ctx context.Context, in Input, model engine.ModelInfo) (*prepared, *Transcript, error) {
	begin := time.Now()
	pcm, err := t.decoded(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	p, err := t.prepare(ctx, pcm, model.MaxWindowSamples)
	if err != nil {
		pcm.Close()
		return nil, nil, err
	}
	if in.Decoded != nil {
		in.Decoded()
	}
	if t.cfg.Charge != nil && in.Samples == nil && !in.Charged {
		t.cfg.Charge(in.Caller, sampleTime(p.length()))
	}
	tr := &Transcript{
		Task:     in.Options.Task,
		Model:    model,
		Audio:    pcm.Info,
		Duration: seconds(p.length()),
		Heard:    p.heard(in.Options.Sequential),
		Channels: len(p.channels),
		Decode:   time.Since(begin),
		Lane:     laneOf(p.length()),
	}
	if in.Opened != nil {
		in.Opened(*tr)
	}
	return p, tr, nil
}

// hear has a model transcribe what was prepared.
func (t *Transcriber) hear(ctx context.Context, q *modelQueue, in Input, p *prepared,
	tr *Transcript) (*engine.Result, error) {
	h := newHearing(in)
	defer h.end()
	s, cost, err := p.plan(h, q.Model(), in)
	if err != nil {
		return nil, err
	}
	if len(s.strands) == 0 { // silence: nothing to run
		return &engine.Result{Language: silentLanguage(in.Options, q.Model().Info())}, nil
	}
	if err := t.run(ctx, q, in, p, tr, s, cost); err != nil {
		return nil, err
	}
	return h.result(s.language()), nil
}

// run has a model run jobs to their end, in their turn, and adds what that took to tr.
func (t *Transcriber) run(ctx context.Context, q *modelQueue, in Input, p *prepared, tr *Transcript,
	s *series, cost int64) error {
	s.settle()
	if cost == 0 { // all is known
		return nil
	}
	request := batcher.Request[engine.Window]{
		Lane:       tr.Lane,
		CostMillis: cost,
		Caller:     in.Caller,
		Weight:     t.weight(in.Caller),
		Work:       s,
		Bytes:      p.bytes(),
	}
	if !in.Deadline.IsZero() {
		request.Deadline = max(time.Until(in.Deadline), 1)
	}
	stop := watch(s, in.Progress)
	stats, err := q.batcher.Do(ctx, request)
	stop(err == nil)
	if err != nil {
		if errors.Is(err, batcher.ErrFatal) {
			t.lost.CompareAndSwap(nil, &err)
		}
		p.running = true
		return err
	}
	tr.Queue += stats.Queue
	tr.Compute += stats.Run
	tr.TurnsWaited += stats.TurnsWaited
	s.settle()
	return nil
}

func (t *Transcriber) weight(caller string) float64 {
	if t.cfg.Weight == nil {
		return 1
	}
	return t.cfg.Weight(caller)
}

// decoded returns the samples of an input, from the decoding that was begun if it was for the same choice.
func (t *Transcriber) decoded(ctx context.Context, in Input) (*audioprep.PCM, error) {
	if in.Samples != nil {
		return audioprep.NewPCM(in.Samples), nil
	}
	d := in.Decoding
	if d == nil || d.choice != in.Choice {
		if d != nil {
			d.Close() // two can't read the audio
		}
		return t.decode(ctx, in.Audio, in.Choice)
	}
	return d.take(ctx)
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

func sampleTime(samples int) time.Duration {
	return time.Duration(samples) * time.Second / engine.SampleRate
}
