package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hark/engine"
)

// newPair is a transcriber with a Whisper and a Parakeet, unless one is left out. The Parakeet knows English and
// German and is sure of every other window.
func newPair(t *testing.T, names ...string) (tr *Transcriber, quick, careful *fakeModel) {
	t.Helper()
	quick, careful = newFakeModel("quick"), newFakeModel("careful")
	quick.info.Family, quick.info.Languages = "parakeet", []string{"en", "de"}
	quick.info.Prompts, quick.info.Translates = false, false
	quick.sure = []float64{-0.01, -0.9}
	registry := engine.NewRegistry(engine.RegistryConfig{Load: func(_ context.Context, name string) (engine.Model, error) {
		return map[string]*fakeModel{"quick": quick, "careful": careful}[name], nil
	}})
	tr = NewTranscriber(registry, TranscriberConfig{Auto: names})
	t.Cleanup(func() {
		if err := errors.Join(tr.Close(context.Background()), registry.Close()); err != nil {
			t.Error(err)
		}
	})
	return tr, quick, careful
}

// whose is the models of a transcript's segments, in order.
func whose(tr *Transcript) string {
	var names []string
	for _, s := range tr.Result.Segments {
		names = append(names, s.Model)
	}
	return strings.Join(names, " ")
}

func TestAutoHearsDoubtfulWindowsAgain(t *testing.T) {
	tr, quick, careful := newPair(t, "careful", "quick")
	in := Input{Model: AutoModel, Audio: bytes.NewReader(speechWAV(100, 1)), Options: engine.Options{Prompt: "names", WordTimestamps: true}}
	got, err := tr.Transcribe(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if w := whose(got); w != "quick careful quick careful" {
		t.Errorf("segments of %q", w)
	}
	if a, b := quick.windows.Load(), careful.windows.Load(); a != 4 || b != 2 {
		t.Errorf("the quick model heard %d windows, the careful one %d; want 4 and 2", a, b)
	}
	if quick.lastOptions().Prompt != "" || careful.lastOptions().Prompt != "names" {
		t.Error("the prompt is for the careful model alone")
	}
	if got.Model.Name != AutoModel || got.Compute <= 0 {
		t.Errorf("%+v", got)
	}
	in.Model, in.Audio = "careful", bytes.NewReader(speechWAV(100, 1))
	alone, err := tr.Transcribe(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range got.Result.Segments {
		if want := alone.Result.Segments[i]; s.Start != want.Start || s.Text != want.Text || want.Model != "" {
			t.Errorf("segment %d: %+v, alone %+v", i, s, want)
		}
	}
}

func TestAutoKnowsWhatTheQuickModelCanNot(t *testing.T) {
	for _, c := range []struct {
		name    string
		options engine.Options
		want    string
	}{
		{"known language", engine.Options{Language: "de"}, "quick"},
		{"unknown language", engine.Options{Language: "pt"}, "careful"},
		{"translation", engine.Options{Task: engine.Translate}, "careful"},
		{"sequential", engine.Options{Sequential: true}, "careful"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, _, _ := newPair(t, "quick", "careful")
			got, err := tr.Transcribe(t.Context(), Input{Model: AutoModel, Audio: bytes.NewReader(speechWAV(10, 1)), Options: c.options})
			if err != nil {
				t.Fatal(err)
			}
			if w := whose(got); w != c.want {
				t.Errorf("segments of %q, want %q", w, c.want)
			}
		})
	}
}

// TestAutoInLittleMemory has room for one of the two models, and for a third that "auto" has no use for.
func TestAutoInLittleMemory(t *testing.T) {
	var loads []string
	registry := engine.NewRegistry(engine.RegistryConfig{
		Load: func(_ context.Context, name string) (engine.Model, error) {
			loads = append(loads, name)
			m := newFakeModel(name)
			if name == "quick" {
				m.info.Family, m.sure = "parakeet", []float64{-0.9}
			}
			return m, nil
		},
		MemoryBytes: 10, Size: func(string) (int64, error) { return 10, nil },
	})
	tr := NewTranscriber(registry, TranscriberConfig{Auto: []string{"careful", "quick", "other"}})
	for range 2 {
		got, err := tr.Transcribe(t.Context(), Input{Model: AutoModel, Audio: bytes.NewReader(speechWAV(10, 1))})
		if err != nil || whose(got) != "careful" {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if slices.Contains(loads, "other") {
		t.Errorf("loaded %v", loads)
	}
	if err := errors.Join(tr.Close(t.Context()), registry.Close()); err != nil {
		t.Error(err)
	}
}

// TestStretches: windows that share sound are one stretch, so that their text is judged as a whole.
func TestStretches(t *testing.T) {
	p := &prepared{channels: [][]engine.Span{
		{{Start: 0, End: 10}, {Start: 12, End: 20}, {Start: 18, End: 30, Overlap: 2}, {Start: 29, End: 40, Overlap: 1}, {Start: 50, End: 60}},
		nil,
		{{Start: 5, End: 9}},
	}}
	got := ""
	for c, j := range p.judge(&hearing{}) {
		for _, s := range j.stretches {
			got += fmt.Sprintf("%d:", c)
			for _, span := range s.spans {
				got += fmt.Sprintf("%d-%d ", span.Start, span.End)
			}
		}
	}
	if want := "0:0-10 0:12-20 18-30 29-40 0:50-60 2:5-9 "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAutoNeedsBoth(t *testing.T) {
	tr, _, _ := newPair(t, "careful")
	_, err := tr.Transcribe(t.Context(), Input{Model: AutoModel, Audio: bytes.NewReader(speechWAV(2, 1))})
	if !errors.Is(err, errNoPair) {
		t.Fatalf("got %v", err)
	}
	if e := explain(err); e.status != 404 || e.param != "model" || !strings.Contains(e.message, "Parakeet") {
		t.Errorf("%+v", e)
	}
}

func TestAutoOfSilence(t *testing.T) {
	tr, quick, careful := newPair(t, "careful", "quick")
	got, err := tr.Transcribe(t.Context(), Input{Model: AutoModel, Audio: bytes.NewReader(wavOf(make([]int16, 32000)))})
	if err != nil || len(got.Result.Segments) != 0 || quick.batches.Load()+careful.batches.Load() != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
