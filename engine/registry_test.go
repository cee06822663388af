package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// countedModel counts its closings.
type countedModel struct {
	Model
	name   string
	closed atomic.Int32
}

func (m *countedModel) Info() ModelInfo { return ModelInfo{Name: m.name} }
func (m *countedModel) Close() error    { m.closed.Add(1); return nil }

// unlimited makes a registry without limits.
func unlimited(load func(ctx context.Context, name string) (Model, error)) *Registry {
	return NewRegistry(RegistryConfig{Load: load})
}

func TestRegistryLoadsOnce(t *testing.T) {
	var loads atomic.Int32
	r := unlimited(func(_ context.Context, name string) (Model, error) {
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
	r := unlimited(func(_ context.Context, name string) (Model, error) {
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
		r := unlimited(func(ctx context.Context, _ string) (Model, error) {
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

// house is a registry of models of 10 bytes each, "big" of 25, with what it has loaded and closed.
type house struct {
	*Registry

	mu  sync.Mutex
	log []string
}

func (h *house) note(event string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, event)
}

func newHouse(keepAlive time.Duration, memory int64) *house {
	h := &house{}
	h.Registry = NewRegistry(RegistryConfig{
		Load: func(_ context.Context, name string) (Model, error) {
			time.Sleep(time.Second)
			if name == "broken" {
				return nil, errors.New("no weights")
			}
			h.note("+" + name)
			return &countedModel{name: name}, nil
		},
		KeepAlive: keepAlive, MemoryBytes: memory,
		Size: func(name string) (int64, error) {
			if name == "big" {
				return 25, nil
			}
			return 10, nil
		},
	})
	h.OnClose(func(m Model) { h.note("-" + m.Info().Name) })
	return h
}

func (h *house) use(t *testing.T, name string) *Ref {
	t.Helper()
	ref, err := h.Acquire(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func (h *house) wantLog(t *testing.T, want string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if got := strings.Join(h.log, " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRegistryUnloadsUnused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(time.Minute, 0)
		ref := h.use(t, "a")
		time.Sleep(5 * time.Minute) // in use all the time
		ref.Release()
		time.Sleep(50 * time.Second)
		h.use(t, "a").Release() // starts the minute anew
		time.Sleep(59 * time.Second)
		h.wantLog(t, "+a")
		time.Sleep(2 * time.Second)
		h.wantLog(t, "+a -a")
		if info, ok := h.Known("a"); !ok || info.Name != "a" || len(h.Loaded()) != 0 {
			t.Errorf("Known: %v %t, Loaded: %v", info, ok, h.Loaded())
		}
		h.use(t, "a").Release()
		h.wantLog(t, "+a -a +a")
		h.Close()
		time.Sleep(5 * time.Minute)
		h.wantLog(t, "+a -a +a -a")
	})
}

func TestRegistryMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(0, 25)
		h.use(t, "a").Release()
		h.use(t, "b").Release()
		h.use(t, "a").Release() // b was used longest ago
		h.use(t, "c").Release()
		h.wantLog(t, "+a +b -b +c")
		a := h.use(t, "a") // in use: c has to go, although it was used last
		h.use(t, "c").Release()
		h.use(t, "b").Release()
		h.wantLog(t, "+a +b -b +c -c +b")

		// With all in use, the next waits for one to become free; who asks for that one meanwhile waits behind it.
		b := h.use(t, "b")
		order := make(chan string, 2)
		for _, name := range []string{"big", "a"} {
			go func() {
				ref := h.use(t, name)
				order <- name
				time.Sleep(10 * time.Second)
				ref.Release()
			}()
			time.Sleep(time.Minute)
		}
		a.Release()
		time.Sleep(time.Minute)
		b.Release()
		if first, second := <-order, <-order; first != "big" || second != "a" {
			t.Errorf("%s came before %s", first, second)
		}
		time.Sleep(time.Minute)
		h.wantLog(t, "+a +b -b +c -c +b -a -b +big -big +a")
		h.Close()
	})
}

func TestRegistryRefusesWhatNeverFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(0, 24)
		var memory *MemoryError
		if _, err := h.Acquire(t.Context(), "big"); !errors.As(err, &memory) || memory.Need != 25 || memory.Have != 24 {
			t.Errorf("got %v", err)
		}
		for range 5 { // a failed load gives its memory back
			if _, err := h.Acquire(t.Context(), "broken"); err == nil {
				t.Error("no error")
			}
		}
		h.use(t, "a").Release()
		h.use(t, "b").Release()
		h.wantLog(t, "+a +b")
		h.Close()
	})
}

// TestRegistryUnderPressure has many ask for four models where two fit: all are
// served, and never more than fit are loaded.
func TestRegistryUnderPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		here, most := 0, 0
		r := NewRegistry(RegistryConfig{
			Load: func(_ context.Context, name string) (Model, error) {
				mu.Lock()
				defer mu.Unlock()
				here++
				most = max(most, here)
				return &countedModel{name: name}, nil
			},
			KeepAlive: 3 * time.Second, MemoryBytes: 25,
			Size: func(string) (int64, error) { return 10, nil },
		})
		r.OnClose(func(Model) { mu.Lock(); here--; mu.Unlock() })
		var wg sync.WaitGroup
		for client := range 20 {
			rng := rand.New(rand.NewPCG(1, uint64(client)))
			wg.Go(func() {
				for range 20 {
					ref, err := r.Acquire(t.Context(), string(rune('a'+rng.IntN(4))))
					if err != nil {
						t.Error(err)
						return
					}
					if ref.Model().(*countedModel).closed.Load() != 0 {
						t.Error("got a closed model")
					}
					time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
					ref.Release()
					time.Sleep(time.Duration(rng.IntN(5000)) * time.Millisecond)
				}
			})
		}
		wg.Wait()
		r.Close()
		if most != 2 || here != 0 {
			t.Errorf("%d models were loaded at once, want 2; %d are left", most, here)
		}
	})
}
