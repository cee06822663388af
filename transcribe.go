package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"hark/audioprep"
	"hark/batcher"
	"hark/engine"
	"hark/server"
)

// transcribeCmd writes down what is said in files. Each file takes the way of an HTTP request, so that short ones
// share batches.
type transcribeCmd struct {
	Files []string `arg:"" name:"file" help:"Audio files, or the sound of films: WAV, MP3, FLAC, Ogg, Opus, M4A, AAC, WebM, Matroska, MP4, AIFF, AU, CAF, and what ffmpeg takes; - is standard input."`

	Model          string   `default:"${default_model}" placeholder:"NAME" help:"Model to use: a name from 'hark models list', a folder, or a NeMo archive. Fetched if it is not here (default: ${default})."`
	Format         string   `short:"f" enum:"text,json,verbose_json,srt,vtt,tsv" default:"text" placeholder:"FORMAT" help:"What to write: ${enum}; json is one object a line and file (default: ${default})."`
	OutputDir      string   `short:"o" placeholder:"DIR" help:"Write a file for each input there, instead of everything to standard output."`
	Language       string   `short:"l" placeholder:"LANG" help:"Language spoken, as a code or an English name (default: detected)."`
	Task           string   `enum:"transcribe,translate" default:"transcribe" placeholder:"WORD" help:"transcribe, or translate into English."`
	WordTimestamps bool     `short:"w" help:"Find the time of every word; json and verbose_json show it."`
	Track          int      `placeholder:"N" help:"Audio track to hear, counted from 1 (default: the one that players take)."`
	Channels       string   `enum:"mix,separate" default:"mix" placeholder:"WORD" help:"mix, or separate to hear each channel by itself, as a speaker (default: ${default})."`
	Sequential     bool     `help:"Decode a recording from start to end, each part knowing the text before, instead of cutting it at silence."`
	Prompt         string   `placeholder:"TEXT" help:"Text to take as said before: names and spellings to expect."`
	Keywords       []string `placeholder:"WORD,..." help:"Names and terms to expect, as they are to be written."`
	Temperature    *float32 `placeholder:"T" help:"Sample at this temperature, 0 to 1 (default: 0, rising where a text looks unsound)."`
	BeamSize       int      `default:"1" placeholder:"N" help:"Hypotheses to follow at temperature 0, 1 to ${max_beam_size}; 1 takes the likeliest token each time (default: ${default})."`

	ffmpegFlags `embed:""`
	deviceFlags `embed:""`
}

// errNoAudio is audioprep.ErrEmpty in the words of a command line, where nothing is uploaded.
var errNoAudio = errors.New("holds no audio")

// maxBeamSize is the most hypotheses that the engine's models follow.
const maxBeamSize = 8

// filesAtOnce is how many files are under way together: as many clips as share a batch.
const filesAtOnce = 12

func (t *transcribeCmd) Run(ctx context.Context, c *console, cli *commandLine) error {
	options, err := t.options()
	if err != nil {
		return err
	}
	if err := t.checkModel(); err != nil {
		return err
	}
	ffmpeg, err := t.findLater(ctx)
	if err != nil {
		return err
	}
	sink, failed, err := t.sink(c)
	if err != nil {
		return err
	}
	loader, err := newLoader(ctx, c, cli, t.deviceFlags)
	if err != nil {
		return err
	}
	defer loader.close()
	if _, err := loader.fetch(ctx, t.Model); err != nil {
		return err
	}
	registry := engine.NewRegistry(engine.RegistryConfig{Load: loader.load})
	defer registry.Close()
	collect := collectLater(t.Model)
	ref, err := registry.Acquire(ctx, t.Model) // once, so that a model that can't be loaded is one error
	collect()
	if err != nil {
		return err
	}
	defer ref.Release()
	transcriber := server.NewTranscriber(registry,
		server.TranscriberConfig{MaxDecodedBytes: server.DefaultMaxDecodedBytes, FFmpeg: ffmpeg})
	defer transcriber.Close(ctx)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	progress := newAudioProgress(c, len(sink.files))
	outcomes := t.start(ctx, c, sink.files, func(i int, in server.Input) (*server.Transcript, error) {
		in.Model, in.Options = t.Model, options
		in.Choice = server.Choice{Track: t.Track, Separate: t.Channels == "separate"}
		in.Progress = func(done, total time.Duration) { progress.set(i, done, total) }
		defer progress.finish()
		return transcriber.Transcribe(ctx, in)
	})
	return t.finish(ctx, sink, outcomes, failed)
}

// sink is where the transcripts of the files go that can be read; how many can't is reported and counted. Where none is
// left, that is the error.
func (t *transcribeCmd) sink(c *console) (sink *transcriptSink, failed int, err error) {
	files, failed, err := t.usableFiles(c)
	if err != nil {
		return nil, failed, err
	}
	sink = newTranscriptSink(c, t, files)
	if t.OutputDir == "" {
		return sink, failed, nil
	}
	if err := makeOutputDir(t.OutputDir); err != nil {
		return nil, failed, err
	}
	failed += sink.leaveOutInputs()
	if len(sink.files) == 0 {
		return nil, failed, errReported
	}
	return sink, failed, nil
}

// finish writes the transcripts in the order asked for, each as soon as those before it are done. Of the files that
// fail, beside those that have already, each is reported, and then the error is errReported.
func (t *transcribeCmd) finish(ctx context.Context, sink *transcriptSink, outcomes []chan outcome, failed int) error {
	for i, name := range sink.files {
		var o outcome
		select {
		case o = <-outcomes[i]:
		case <-ctx.Done(): // a worker may hang in reading from a pipe
			return ctx.Err()
		}
		if o.err == nil {
			o.err = sink.put(i, o.transcript)
		}
		switch {
		case o.err == nil:
		case endsAll(ctx, o.err):
			return explain(o.err)
		default:
			if errors.Is(o.err, audioprep.ErrEmpty) {
				o.err = errNoAudio
			}
			sink.console.report(fmt.Errorf("%s: %w", name, o.err))
			failed++
		}
	}
	if failed > 0 {
		return errReported
	}
	return nil
}

// options are the engine's options for the flags.
func (t *transcribeCmd) options() (engine.Options, error) {
	o := engine.Options{Prompt: t.Prompt, Keywords: t.Keywords, WordTimestamps: t.WordTimestamps,
		Sequential: t.Sequential, BeamSize: t.BeamSize}
	if t.Task == "translate" {
		o.Task = engine.Translate
	}
	language, ok := engine.ParseLanguage(t.Language)
	if !ok {
		return o, withHint(&usage{fmt.Errorf("--language: %q is not a language that hark knows", t.Language)},
			"give a code (en, de), a tag (pt-BR) or an English name (german), or leave it out to have it detected")
	}
	o.Language = language
	if t.Temperature != nil {
		if !(*t.Temperature >= 0 && *t.Temperature <= 1) { // nor is NaN
			return o, &usage{fmt.Errorf("--temperature: %g is not between 0 and 1", *t.Temperature)}
		}
		o.Temperatures = []float32{*t.Temperature}
	}
	if t.Track < 0 {
		return o, &usage{errors.New("--track: tracks are counted from 1")}
	}
	if t.BeamSize < 1 || t.BeamSize > maxBeamSize {
		return o, &usage{fmt.Errorf("--beam-size: %d is not between 1 and %d", t.BeamSize, maxBeamSize)}
	}
	return o, nil
}

// checkModel refuses what can't be the name of one model. (A folder's name may hold commas.)
func (t *transcribeCmd) checkModel() error {
	first, _, several := strings.Cut(t.Model, ",")
	if _, err := os.Stat(t.Model); several && first != "" && err != nil {
		return withHint(&usage{fmt.Errorf("--model: transcribe takes one model, not several: %q", t.Model)},
			"--model %s uses the first of them", first)
	}
	return checkModelNames([]string{t.Model})
}

// usableFiles leaves out the files that can't be read, and reports and counts them.
// Where none is left, that is the error.
func (t *transcribeCmd) usableFiles(c *console) (files []string, failed int, err error) {
	for i, err := range checkInputs(t.Files, c.in) {
		if err == nil {
			files = append(files, t.Files[i])
			continue
		}
		failed++
		c.report(err)
	}
	if len(files) == 0 {
		return nil, failed, errReported
	}
	return files, failed, nil
}

// outcome is what became of one file.
type outcome struct {
	transcript *server.Transcript
	err        error
}

// start works on the files, some at once, in their order, and returns where each one's outcome will arrive.
func (t *transcribeCmd) start(ctx context.Context, c *console, files []string,
	work func(i int, in server.Input) (*server.Transcript, error)) []chan outcome {
	outcomes := make([]chan outcome, len(files))
	for i := range outcomes {
		outcomes[i] = make(chan outcome, 1)
	}
	go func() {
		places := make(chan struct{}, filesAtOnce)
		for i, name := range files {
			places <- struct{}{}
			go func() {
				defer func() { <-places }()
				f, err := openInput(name, c.in)
				if err != nil {
					outcomes[i] <- outcome{err: err}
					return
				}
				defer f.Close()
				transcript, err := work(i, server.Input{Audio: f})
				outcomes[i] <- outcome{transcript, err}
			}()
		}
	}()
	return outcomes
}

// endsAll reports whether an error of one file would be every other file's too.
func endsAll(ctx context.Context, err error) bool {
	var option *engine.OptionError
	return ctx.Err() != nil || errors.As(err, &option) || errors.Is(err, batcher.ErrFatal)
}

// explain names the flag behind a wish that the model can't fulfil.
func explain(err error) error {
	var option *engine.OptionError
	if !errors.As(err, &option) {
		return err
	}
	err = fmt.Errorf("--%s: %s", flagOf(option.Option), option.Reason)
	switch option.Option {
	case "language", "task", "prompt": // other models may take it
		return withHint(err, "`hark models list` shows what other models can do")
	}
	return &usage{err}
}

// flagOf is the flag for an option of the engine.
func flagOf(option string) string {
	switch option {
	case "word_timestamps", "words":
		return "word-timestamps"
	case "temperatures":
		return "temperature"
	case "beam_size", "beam":
		return "beam-size"
	}
	return option
}
