package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"hark/engine"
)

// coming and going models: each load makes a new one of 10 bytes.
type fakeHouse struct {
	mu    sync.Mutex
	loads map[string]int
	all   []*fakeModel
}

func (h *fakeHouse) load(_ context.Context, name string) (engine.Model, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loads[name]++
	m := newFakeModel(name)
	h.all = append(h.all, m)
	return m, nil
}

func newHouse(t *testing.T, keepAlive time.Duration, memory int64) (*fakeHouse, *Transcriber) {
	h := &fakeHouse{loads: map[string]int{}}
	registry := engine.NewRegistry(engine.RegistryConfig{
		Load: h.load, KeepAlive: keepAlive, MemoryBytes: memory,
		Size: func(name string) (int64, error) { return int64(10 * len(name)), nil },
	})
	tr := NewTranscriber(registry, TranscriberConfig{})
	t.Cleanup(func() {
		if err := tr.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := registry.Close(); err != nil {
			t.Error(err)
		}
		for _, m := range h.all {
			if !m.closed.Load() {
				t.Errorf("a model %s was never closed", m.info.Name)
			}
		}
		if len(tr.batchers) != 0 {
			t.Errorf("%d batchers are left", len(tr.batchers))
		}
	})
	return h, tr
}

func TestModelsComeAndGo(t *testing.T) {
	h, tr := newHouse(t, time.Millisecond, 15) // one at a time
	var wg sync.WaitGroup
	for client := range 12 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(3, uint64(client)))
			for range 8 {
				model := string(rune('a' + rng.IntN(3)))
				transcript, err := tr.Transcribe(t.Context(), Input{Model: model, Audio: bytes.NewReader(speechWAV(2, client))})
				if err != nil || transcript.Model.Name != model || transcript.Result.Text() == "" {
					t.Errorf("%s: %+v, %v", model, transcript, err)
				}
				time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond)
			}
		})
	}
	wg.Wait()
	for _, name := range []string{"a", "b", "c"} {
		if h.loads[name] < 2 {
			t.Errorf("%s was loaded %d times, want it to have gone and come back", name, h.loads[name])
		}
	}
}

func TestUnusedModelGoes(t *testing.T) {
	h, tr := newHouse(t, 20*time.Millisecond, 0)
	for i := range 2 {
		if err := tr.Warm(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if h.loads["a"] != i+1 {
			t.Errorf("loaded %d times, want %d", h.loads["a"], i+1)
		}
		eventually(t, "an unused model is closed", h.all[i].closed.Load)
	}
}

func TestModelThatNeverFits(t *testing.T) {
	_, tr := newHouse(t, 0, 15)
	_, err := tr.Transcribe(t.Context(), Input{Model: "big", Audio: bytes.NewReader(speechWAV(2, 1))})
	var memory *engine.MemoryError
	if !errors.As(err, &memory) {
		t.Fatalf("got %v", err)
	}
	if e := explain(err); e.status != 507 || e.param != "model" {
		t.Errorf("got %s", fmt.Sprint(e.status, e.param))
	}
}
