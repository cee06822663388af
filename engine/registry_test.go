package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// countedModel counts its closings.
type countedModel struct {
	Model
	name   string
	closed atomic.Int32
}

func (m *countedModel) Info() ModelInfo { return ModelInfo{Name: m.name} }
func (m *countedModel) Close() error    { m.closed.Add(1); return nil }

func TestRegistryLoadsOnce(t *testing.T) {
	var loads atomic.Int32
	r := NewRegistry(func(_ context.Context, name string) (Model, error) {
		loads.Add(1)
		return &countedModel{name: name}, nil
	})
	var wg sync.WaitGroup
	refs := make([]*Ref, 50)
	for i := range refs {
		wg.Go(func() {
			ref, err := r.Acquire(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			refs[i] = ref
		})
	}
	wg.Wait()
	if n := loads.Load(); n != 1 {
		t.Errorf("got %d loads, want 1", n)
	}
	m := refs[0].Model().(*countedModel)
	if err := r.Unload("a"); err != nil {
		t.Fatal(err)
	}
	for i, ref := range refs {
		if m.closed.Load() != 0 {
			t.Fatalf("closed while %d still use it", len(refs)-i)
		}
		ref.Release()
		ref.Release()
	}
	if n := m.closed.Load(); n != 1 {
		t.Errorf("closed %d times, want once", n)
	}
}

func TestRegistryFailedLoadIsTriedAgain(t *testing.T) {
	fail := errors.New("no weights")
	tries := 0
	r := NewRegistry(func(_ context.Context, name string) (Model, error) {
		if tries++; tries == 1 {
			return nil, fail
		}
		return &countedModel{name: name}, nil
	})
	if _, err := r.Acquire(t.Context(), "a"); !errors.Is(err, fail) {
		t.Fatalf("got %v, want %v", err, fail)
	}
	ref, err := r.Acquire(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Loaded(); len(got) != 1 || got[0].Name != "a" {
		t.Errorf("Loaded: got %v", got)
	}
	ref.Release()
}

func TestRegistryHangUpDuringLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		m := &countedModel{name: "a"}
		r := NewRegistry(func(ctx context.Context, _ string) (Model, error) {
			<-release
			return m, ctx.Err()
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { _, err := r.Acquire(ctx, "a"); done <- err }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		close(release)
		ref, err := r.Acquire(t.Context(), "a") // the load goes on without the one who began it
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Acquire(t.Context(), "a"); !errors.Is(err, ErrRegistryClosed) {
			t.Errorf("after Close: got %v", err)
		}
		if m.closed.Load() != 0 {
			t.Error("closed while in use")
		}
		ref.Release()
		if m.closed.Load() != 1 {
			t.Errorf("closed %d times, want once", m.closed.Load())
		}
	})
}
