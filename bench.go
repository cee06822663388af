package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"hark/audioprep"
	"hark/bench"
	"hark/engine"
	"hark/kernels"
	"hark/server"
)

// benchCmd measures how fast models run here, or how a server bears load.
type benchCmd struct {
	Files []string `arg:"" optional:"" name:"file" help:"Audio files to use (default: hark's own sample, for 13 s, and for 5 min over and over with pauses)."`

	Model    string `default:"${default_model}" placeholder:"NAME" help:"Model to run, or to ask a server for (default: ${default})."`
	Language string `short:"l" default:"en" placeholder:"LANG" help:"Language spoken in the files (default: ${default})."`
	Rounds   int    `default:"5" placeholder:"N" help:"Without --http, how often each file is run, or spoken to the live server; medians are shown (default: ${default})."`

	HTTP       string        `name:"http" placeholder:"URL" help:"Load a server instead: the address of hark or of any other with OpenAI's audio API, such as http://127.0.0.1:8080."`
	Realtime   string        `placeholder:"URL" help:"Speak to a server's live transcription instead, at the pace of speech: the address of hark or of any other with OpenAI's Realtime API, such as http://127.0.0.1:8080."`
	Key        string        `placeholder:"KEY" help:"With --http or --realtime, the key to send to the server."`
	Clips      int           `default:"8" placeholder:"N" help:"With --http, clients that send files of up to 30 s, each its next one when the last was answered (default: ${default})."`
	Recordings int           `default:"2" placeholder:"N" help:"With --http, clients that send longer files (default: ${default})."`
	Duration   timeSpan      `default:"60s" placeholder:"TIME" help:"With --http, how long clients send requests; what is under way then is waited for (default: ${default})."`
	Timeout    time.Duration `default:"10m" placeholder:"TIME" help:"With --http or --realtime, a client's patience (default: ${default})."`

	JSON bool `name:"json" help:"Print one JSON object instead of tables."`

	deviceFlags `embed:""`
}

// table is a result that people can read too.
type table interface{ WriteTable(w io.Writer) error }

func (b *benchCmd) Run(ctx context.Context, c *console, cli *commandLine, command *kong.Context) error {
	if err := cmp.Or(b.check(), b.checkFlags(command)); err != nil {
		return &usage{err}
	}
	files, err := b.files(ctx)
	if err != nil {
		return err
	}
	var result table
	switch {
	case b.HTTP != "":
		result, err = b.load(ctx, files)
	case b.Realtime != "":
		result, err = b.speak(ctx, files[0])
	default:
		result, err = b.offline(ctx, c, cli, files)
	}
	if result == nil {
		return err
	}
	// After an interruption there are both: what was measured until then, and the error.
	return errors.Join(b.print(c, result), err)
}

// print writes a result to standard output.
func (b *benchCmd) print(c *console, result table) error {
	var out bytes.Buffer
	var err error
	if b.JSON {
		err = json.NewEncoder(&out).Encode(result)
	} else {
		err = result.WriteTable(&out)
	}
	if err != nil {
		return err
	}
	return c.write(out.Bytes())
}

func (b *benchCmd) check() error {
	switch {
	case b.Rounds < 1:
		return errors.New("--rounds: want 1 or more")
	case b.Clips < 0 || b.Recordings < 0 || b.Clips+b.Recordings == 0:
		return errors.New("--clips, --recordings: want 0 or more, and one client at least")
	case b.Duration <= 0:
		return errors.New("--duration: want more than 0")
	case b.Timeout <= 0:
		return errors.New("--timeout: want more than 0")
	case b.HTTP != "" && b.Realtime != "":
		return errors.New("--http, --realtime: want one of them")
	}
	return checkModelNames([]string{b.Model})
}

// Flags that are read with --http, those that are read with --realtime, and those that are not read in this process.
var (
	loadFlags     = []string{"http", "json", "model", "language", "key", "timeout", "clips", "recordings", "duration"}
	realtimeFlags = []string{"realtime", "json", "model", "language", "key", "timeout", "rounds"}
	notOffline    = []string{"key", "timeout", "clips", "recordings", "duration"}
)

// checkFlags returns an error for what was given on the command line that this way to measure doesn't read. Variables
// may be set for others.
func (b *benchCmd) checkFlags(command *kong.Context) error {
	for _, p := range command.Path {
		if p.Flag == nil || p.Resolved {
			continue
		}
		name := p.Flag.Name
		switch {
		case b.HTTP != "" && !slices.Contains(loadFlags, name):
			return fmt.Errorf("--%s: is not for --http", name)
		case b.HTTP == "" && b.Realtime != "" && !slices.Contains(realtimeFlags, name):
			return fmt.Errorf("--%s: is not for --realtime", name)
		case b.HTTP == "" && b.Realtime == "" && slices.Contains(notOffline, name):
			return fmt.Errorf("--%s: is for --http or --realtime, and neither is given", name)
		}
	}
	if b.Realtime != "" && len(b.Files) > 1 {
		return errors.New("--realtime: takes one file")
	}
	return nil
}

// files reads what is to be sent or run, with its lengths.
func (b *benchCmd) files(ctx context.Context) ([]bench.File, error) {
	if len(b.Files) == 0 {
		own := float64(len(sample)-wavHeader) / 2 / engine.SampleRate
		return []bench.File{{Name: "sample.wav", Data: sample, Seconds: own},
			{Name: "sample-5min.wav", Data: sampleOf(300), Seconds: 300}}, nil
	}
	var files []bench.File
	for _, name := range b.Files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, pathCause(err))
		}
		pcm, err := audioprep.Decode(ctx, bytes.NewReader(data), audioprep.Options{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, bench.File{Name: filepath.Base(name), Data: data, Seconds: pcm.Info.Duration.Seconds()})
		if err := pcm.Close(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// load keeps a server busy.
func (b *benchCmd) load(ctx context.Context, files []bench.File) (table, error) {
	address, err := serverAddress("--http", b.HTTP, "/v1/audio/transcriptions")
	if err != nil {
		return nil, err
	}
	l := bench.Load{
		URL: address.String(), Key: b.Key, Fields: map[string]string{"model": b.Model, "language": b.Language},
		ClipClients: b.Clips, RecordingClients: b.Recordings,
		Duration: time.Duration(b.Duration), Timeout: b.Timeout,
	}
	for _, f := range files {
		if f.Seconds <= 30 {
			l.Clips = append(l.Clips, f)
		} else {
			l.Recordings = append(l.Recordings, f)
		}
	}
	if b.Clips > 0 && len(l.Clips) == 0 {
		return nil, &usage{errors.New("no file is a clip of up to 30 s: give one, or --clips 0")}
	}
	if b.Recordings > 0 && len(l.Recordings) == 0 {
		return nil, &usage{errors.New("no file is a recording of over 30 s: give one, or --recordings 0")}
	}
	return measured(l.Run(ctx))
}

// measured is a result as a table, which is nil where there is none.
func measured[T interface {
	comparable
	table
}](result T, err error) (table, error) {
	var none T
	if result == none {
		return nil, err
	}
	return result, err
}

// serverAddress is the URL that a flag gives, with a path if it has none.
func serverAddress(flag, value, path string) (*url.URL, error) {
	address, err := url.Parse(value)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, &usage{fmt.Errorf("%s: %q is no address, want one such as http://127.0.0.1:8080", flag, value)}
	}
	if strings.Trim(address.Path, "/") == "" {
		address.Path = path
	}
	return address, nil
}

// speak has a file spoken to a server, as often as there are rounds.
func (b *benchCmd) speak(ctx context.Context, file bench.File) (table, error) {
	address, err := serverAddress("--realtime", b.Realtime, "/v1/realtime")
	if err != nil {
		return nil, err
	}
	pcm, err := audioprep.Decode(ctx, bytes.NewReader(file.Data), audioprep.Options{MaxDuration: 5 * time.Minute})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name, err)
	}
	defer pcm.Close()
	l := bench.Live{
		URL: address, Key: b.Key, Model: b.Model, Language: b.Language, Rounds: b.Rounds, Timeout: b.Timeout,
		File: file.Name, Samples: pcm.Samples,
	}
	detector := audioprep.NewDetector(0.5, len(pcm.Samples)) // so that no pause ends the speech
	edges := detector.Write(append(pcm.Samples[:len(pcm.Samples):len(pcm.Samples)],
		make([]float32, audioprep.SampleRate)...))
	if len(edges) == 0 {
		return nil, fmt.Errorf("%s: there is no speech to be heard", file.Name)
	}
	l.SpeechStart, l.SpeechEnd = edges[0].At, min(detector.Spoken(), len(pcm.Samples))
	return measured(l.Run(ctx))
}

// offline runs the files through a model in this process.
func (b *benchCmd) offline(ctx context.Context, c *console, cli *commandLine, files []bench.File) (table, error) {
	loader, err := newLoader(ctx, c, cli, b.deviceFlags)
	if err != nil {
		return nil, err
	}
	defer loader.close()
	if _, err := loader.fetch(ctx, b.Model); err != nil {
		return nil, err
	}
	meter := bench.NewMeter(nil)
	if loader.device.cpu != nil { // a GPU has not begun an operation when the call returns
		loader.wrap = func(d engine.Device) engine.Device {
			meter = bench.NewMeter(d)
			return meter
		}
	}
	registry := engine.NewRegistry(engine.RegistryConfig{Load: loader.load})
	defer registry.Close()
	begin := time.Now()
	ref, err := registry.Acquire(ctx, b.Model)
	if err != nil {
		return nil, err
	}
	loaded := time.Since(begin)
	defer ref.Release()
	transcriber := server.NewTranscriber(registry, server.TranscriberConfig{})
	defer transcriber.Close(ctx)

	language, ok := engine.ParseLanguage(b.Language)
	if !ok {
		return nil, &usage{fmt.Errorf("--language: %q is not a language that hark knows", b.Language)}
	}
	options := engine.Options{Language: language, Temperatures: []float32{0}}
	results, err := bench.TimeFiles(ctx, files, b.Rounds, meter.Reset, func(ctx context.Context, f bench.File) error {
		_, err := transcriber.Transcribe(ctx, server.Input{Model: b.Model,
			Audio: bytes.NewReader(f.Data), Options: options})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &bench.Offline{
		Machine: machineOf(loader.device),
		Model:   b.Model, Load: loaded.Seconds(), Rounds: b.Rounds,
		Files: results, Ops: meter.Ops(), PeakMemory: bench.PeakMemory(),
	}, nil
}

// machineOf describes what was computed on.
func machineOf(c *computer) bench.Machine {
	info := c.info()
	m := bench.Machine{Device: info.Name, Code: info.Detail}
	if c.cpu != nil {
		m.Threads = c.cpu.Threads()
		m.Peak, m.PeakIntegers = peakOf(m.Threads, kernels.PeakFLOPS), peakOf(m.Threads, kernels.PeakIntegers)
		m.PeakBF16 = peakOf(m.Threads, kernels.PeakBF16)
	}
	return m
}

// peakOf is what so many threads do at once, in additions and multiplications a second.
func peakOf(threads int, measure func(time.Duration) float64) float64 {
	rates := make([]float64, threads)
	var wg sync.WaitGroup
	for i := range rates {
		wg.Go(func() { rates[i] = measure(200 * time.Millisecond) })
	}
	wg.Wait()
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum
}
