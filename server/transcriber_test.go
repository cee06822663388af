package server

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"hark/audioprep"
	"hark/batcher"
	"hark/engine"
)

func newTestTranscriber(t *testing.T, cfg TranscriberConfig) (*Transcriber, *fakeModel) {
	t.Helper()
	model := newFakeModel("fake")
	registry := engine.NewRegistry(engine.RegistryConfig{Load: func(_ context.Context, name string) (engine.Model, error) {
		if name != "fake" {
			return nil, errNoModel
		}
		return model, nil
	}})
	tr := NewTranscriber(registry, cfg)
	t.Cleanup(func() {
		if err := tr.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		registry.Close()
		if !model.closed.Load() {
			t.Error("the model is still in use")
		}
	})
	return tr, model
}

var errNoModel = errors.New("no such model")

func TestTranscribe(t *testing.T) {
	tr, _ := newTestTranscriber(t, TranscriberConfig{})
	ctx := context.Background()
	decoded := 0
	var progress []time.Duration
	got, err := tr.Transcribe(ctx, Input{
		Model:    "fake",
		Audio:    bytes.NewReader(speechWAV(61, 1)),
		Decoded:  func() { decoded++ },
		Progress: func(done, total time.Duration) { progress = append(progress, done, total) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Duration != 61 || got.Lane != batcher.Recordings || len(got.Result.Segments) < 3 || got.Model.Name != "fake" || got.Audio.Container != "wav" || got.Heard <= 0 || got.Heard > 61 {
		t.Errorf("got %+v", got)
	}
	if decoded != 1 {
		t.Errorf("Decoded was called %d times", decoded)
	}
	if n := len(progress); n < 2 || progress[n-1] != 61*time.Second || progress[n-2] != 61*time.Second {
		t.Errorf("progress %v, want 61 s of 61 s at last", progress)
	}

	if _, err := tr.Transcribe(ctx, Input{Model: "other", Audio: bytes.NewReader(speechWAV(1, 1))}); !errors.Is(err, errNoModel) {
		t.Errorf("unknown model: %v", err)
	}
	if _, err := tr.Transcribe(ctx, Input{Model: "fake", Audio: bytes.NewReader(nil)}); !errors.Is(err, audioprep.ErrEmpty) {
		t.Errorf("nothing: %v", err)
	}
	var option *engine.OptionError
	if _, err := tr.Transcribe(ctx, Input{Model: "fake", Audio: bytes.NewReader(silentWAV(1)), Options: engine.Options{Language: "xx"}}); !errors.As(err, &option) {
		t.Errorf("a language that the model doesn't know, and silence: %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := tr.Transcribe(gone, Input{Model: "fake", Audio: bytes.NewReader(speechWAV(1, 1))}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who is gone: %v", err)
	}
}

func TestSequentialIsHeardWhole(t *testing.T) {
	tr, model := newTestTranscriber(t, TranscriberConfig{})
	audio := speechWAV(20, 1)
	got, err := tr.Transcribe(context.Background(), Input{Model: "fake", Audio: bytes.NewReader(audio), Options: engine.Options{Sequential: true}})
	if err != nil || got.Heard != got.Duration || !model.lastOptions().Sequential {
		t.Errorf("heard %v of %v, %v", got.Heard, got.Duration, err)
	}
}

func TestClosedTranscriber(t *testing.T) {
	tr, model := newTestTranscriber(t, TranscriberConfig{})
	model.set(func(m *fakeModel) { m.hold = make(chan struct{}) })
	ended := make(chan error)
	go func() {
		_, err := tr.Transcribe(context.Background(), Input{Model: "fake", Audio: bytes.NewReader(speechWAV(1, 1))})
		ended <- err
	}()
	<-model.begun
	if err := tr.Close(canceled()); !errors.Is(err, context.Canceled) {
		t.Errorf("closing at once: %v", err)
	}
	if err := <-ended; !errors.Is(err, batcher.ErrClosed) {
		t.Errorf("the request under way: %v", err)
	}
	_, err := tr.Transcribe(context.Background(), Input{Model: "fake", Audio: bytes.NewReader(speechWAV(1, 1))})
	if !errors.Is(err, batcher.ErrClosed) {
		t.Errorf("a request afterwards: %v", err)
	}
}

// TestDecodedMemory lets many recordings in at once and looks at what is held: what has no room in
// memory goes to files, and nobody waits for it.
func TestDecodedMemory(t *testing.T) {
	const each = 40 * engine.SampleRate * 4
	dir := t.TempDir()
	tr, model := newTestTranscriber(t, TranscriberConfig{MaxDecodedBytes: 3 * each, SpoolDir: dir})
	hold := make(chan struct{})
	model.set(func(m *fakeModel) { m.hold = hold })
	audio := speechWAV(40, 1)
	var wg sync.WaitGroup
	decoded := make(chan bool, 6)
	texts := make([]string, 6)
	for i := range texts {
		wg.Go(func() {
			got, err := tr.Transcribe(context.Background(), Input{
				Model: "fake", Audio: bytes.NewReader(audio), Decoded: func() { decoded <- true },
			})
			if err != nil {
				t.Error(err)
				return
			}
			texts[i] = got.Result.Text()
		})
	}
	for range texts {
		<-decoded
	}
	if got := tr.gate.bytes.Load(); got > 3*each || got < each {
		t.Errorf("%d bytes held in memory, want up to %d", got, 3*each)
	}
	wantEmpty(t, dir) // the files have no names
	close(hold)
	wg.Wait()
	for i, text := range texts {
		if text == "" || text != texts[0] {
			t.Errorf("recording %d: got %q, want %q", i, text, texts[0])
		}
	}
	if got := tr.gate.bytes.Load(); got != 0 {
		t.Errorf("%d bytes held after all", got)
	}
}

// TestDecodedMemoryOfWhoLeaves: a caller who is gone leaves nothing behind either.
func TestDecodedMemoryOfWhoLeaves(t *testing.T) {
	tr, model := newTestTranscriber(t, TranscriberConfig{MaxDecodedBytes: 1 << 20})
	model.set(func(m *fakeModel) { m.hold = make(chan struct{}) })
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for _, seconds := range []float64{1, 40} { // in memory, in a file
		wg.Go(func() {
			if _, err := tr.Transcribe(ctx, Input{Model: "fake", Audio: bytes.NewReader(speechWAV(seconds, 1))}); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	<-model.begun
	cancel()
	wg.Wait()
	if got := tr.gate.bytes.Load(); got != 0 {
		t.Errorf("%d bytes held after all", got)
	}
}

// TestWindowsThatGoOnLater: a window that leaves its batch before its end is run again, and kept once.
func TestWindowsThatGoOnLater(t *testing.T) {
	tr, model := newTestTranscriber(t, TranscriberConfig{})
	hear := func() (*Transcript, int) {
		kept := 0
		got, err := tr.Transcribe(t.Context(), Input{
			Model: "fake", Audio: bytes.NewReader(speechWAV(61, 1)), Kept: func(Piece) { kept++ },
		})
		if err != nil {
			t.Fatal(err)
		}
		return got, kept
	}
	want, windows := hear()
	ran := 0
	model.fail = engine.ErrUnfinished
	model.ran = func(string) {
		if ran++; ran == windows {
			model.set(func(m *fakeModel) { m.fail = nil })
		}
	}
	got, kept := hear()
	if ran <= windows || kept != windows || !reflect.DeepEqual(got.Result, want.Result) {
		t.Errorf("%d windows ran %d times and were kept %d times\ngot  %+v\nwant %+v", windows, ran, kept, got.Result, want.Result)
	}
}
