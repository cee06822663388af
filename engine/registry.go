package engine

import (
	"context"
	"errors"
	"sort"
	"sync"
)

// ErrRegistryClosed comes back from [Registry.Acquire] after Close.
var ErrRegistryClosed = errors.New("the server is shutting down")

// Registry holds the loaded models, each with a count of those who use it, so
// that a model is loaded once however many ask, and never closed under anyone's hands.
// It's safe for concurrent use.
type Registry struct {
	load func(ctx context.Context, name string) (Model, error)

	mu     sync.Mutex
	models map[string]*entry
	closed bool
}

// entry is one model of the registry; its count and its doomed mark are guarded by the registry's lock.
type entry struct {
	ready  chan struct{} // closed when model and err are set
	model  Model
	err    error
	count  int
	doomed bool // to be closed by whoever brings count to zero
}

// Ref is one use of a loaded model. Release it once.
type Ref struct {
	registry *Registry
	entry    *entry
	once     sync.Once
}

// NewRegistry makes an empty registry; load loads the model of a name.
func NewRegistry(load func(ctx context.Context, name string) (Model, error)) *Registry {
	return &Registry{load: load, models: make(map[string]*entry)}
}

// Acquire returns a use of the named model, loading it first if need be. Those who ask while
// it loads wait for the same load, which goes on when the one who began it
// hangs up; ctx ends only the waiting. A load that fails is tried again by the next caller.
func (r *Registry) Acquire(ctx context.Context, name string) (*Ref, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrRegistryClosed
	}
	e := r.models[name]
	if e == nil {
		e = &entry{ready: make(chan struct{})}
		r.models[name] = e
		go r.fill(context.WithoutCancel(ctx), name, e)
	}
	e.count++
	r.mu.Unlock()

	select {
	case <-e.ready:
	case <-ctx.Done():
		r.release(e)
		return nil, ctx.Err()
	}
	if e.err != nil {
		r.release(e)
		return nil, e.err
	}
	return &Ref{registry: r, entry: e}, nil
}

// fill loads one model and lets those who wait go on.
func (r *Registry) fill(ctx context.Context, name string, e *entry) {
	e.model, e.err = r.load(ctx, name)
	r.mu.Lock()
	if e.err != nil && r.models[name] == e {
		delete(r.models, name)
	}
	close(e.ready)
	closeNow := e.doomed && e.count == 0 && e.err == nil
	r.mu.Unlock()
	if closeNow {
		e.model.Close()
	}
}

// Loaded describes the models that are ready, by name.
func (r *Registry) Loaded() []ModelInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	var infos []ModelInfo
	for _, e := range r.models {
		if e.isReady() && e.err == nil {
			infos = append(infos, e.model.Info())
		}
	}
	sort.Slice(infos, func(i, j int) bool { return infos[i].Name < infos[j].Name })
	return infos
}

// Unload takes the named model out; it's closed when its last user lets go of it.
func (r *Registry) Unload(name string) error {
	r.mu.Lock()
	e := r.models[name]
	if e == nil {
		r.mu.Unlock()
		return nil
	}
	delete(r.models, name)
	return r.doom(e)
}

// Close unloads every model and refuses later callers.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.closed = true
	entries := r.models
	r.models = nil
	r.mu.Unlock()
	var errs []error
	for _, e := range entries {
		r.mu.Lock()
		errs = append(errs, r.doom(e))
	}
	return errors.Join(errs...)
}

// doom marks e, closes it if nobody uses it, and gives back the lock that the caller took.
func (r *Registry) doom(e *entry) error {
	e.doomed = true
	closeNow := e.count == 0 && e.isReady() && e.err == nil
	r.mu.Unlock()
	if closeNow {
		return e.model.Close()
	}
	return nil
}

func (r *Registry) release(e *entry) {
	r.mu.Lock()
	e.count--
	closeNow := e.doomed && e.count == 0 && e.isReady() && e.err == nil
	r.mu.Unlock()
	if closeNow {
		e.model.Close()
	}
}

// Model is the model in use.
func (u *Ref) Model() Model { return u.entry.model }

// Release ends the use; further calls do nothing.
func (u *Ref) Release() { u.once.Do(func() { u.registry.release(u.entry) }) }

func (e *entry) isReady() bool {
	select {
	case <-e.ready:
		return true
	default:
		return false
	}
}
