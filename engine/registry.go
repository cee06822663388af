package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrRegistryClosed comes back from [Registry.Acquire] after Close.
var ErrRegistryClosed = errors.New("the server is shutting down")

// MemoryError says that a model does not fit the memory for models, even alone.
type MemoryError struct {
	Model      string
	Need, Have int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("model %s needs %d MiB, more than the %d MiB for models", e.Model, e.Need>>20, e.Have>>20)
}

// RegistryConfig says how models are loaded and how long they stay.
type RegistryConfig struct {
	// Load loads the model of a name.
	Load func(ctx context.Context, name string) (Model, error)
	// KeepAlive is how long a model that nobody uses stays loaded; 0: for ever.
	KeepAlive time.Duration
	// MemoryBytes is what all models together may take; 0: no limit. One that does not fit beside the others takes the
	// place of those used longest ago, as soon as they are free.
	MemoryBytes int64
	// Size is about what a model will take, in bytes. It's asked only where there is a limit.
	Size func(name string) (int64, error)
}

// Registry holds the loaded models, each with a count of those who use it, so
// that a model is loaded once however many ask, and never closed under anyone's hands.
// It's safe for concurrent use.
type Registry struct {
	config RegistryConfig

	mu      sync.Mutex
	models  map[string]*entry
	known   map[string]ModelInfo // of every model that has been loaded
	onClose func(Model)
	used    int64 // bytes of the models that are loaded or being loaded, doomed ones included
	uses    int   // acquired so far
	loading []*entry
	changed chan struct{} // closed, and made anew, when memory may have become free
	closed  bool
}

// entry is one model of the registry. All but its name is guarded by the registry's
// lock, model and err only until it is ready.
type entry struct {
	name   string
	size   int64
	ready  chan struct{} // closed when model and err are set
	model  Model
	err    error
	count  int
	last   int  // the registry's uses when it was acquired last
	doomed bool // to be closed by whoever brings count to zero
}

// Ref is one use of a loaded model. Release it once.
type Ref struct {
	registry *Registry
	entry    *entry
	once     sync.Once
}

// NewRegistry makes an empty registry.
func NewRegistry(c RegistryConfig) *Registry {
	return &Registry{config: c, models: map[string]*entry{}, known: map[string]ModelInfo{},
		changed: make(chan struct{})}
}

// OnClose sets what is called with a model that nobody uses any more, just before it is closed.
func (r *Registry) OnClose(f func(Model)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onClose = f
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
		e = &entry{name: name, ready: make(chan struct{})}
		r.models[name] = e
		r.loading = append(r.loading, e)
		go r.fill(context.WithoutCancel(ctx), e)
	}
	e.count++
	r.uses++
	e.last = r.uses
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
func (r *Registry) fill(ctx context.Context, e *entry) {
	model, err := Model(nil), r.makeRoom(e)
	if err == nil {
		model, err = r.config.Load(ctx, e.name)
	}
	r.mu.Lock()
	e.model, e.err = model, err
	r.loading = slices.DeleteFunc(r.loading, func(other *entry) bool { return other == e })
	if err == nil {
		r.known[e.name] = model.Info()
	} else {
		r.used -= e.size
		if r.models[e.name] == e {
			delete(r.models, e.name)
		}
	}
	r.notify()
	close(e.ready)
	_ = r.closeIfDone(e) // nobody is left to be told
}

// makeRoom waits until there is memory for a model, and takes it. Models get it in the order in which they were asked
// for. Those used longest ago give up theirs: what they have under way they finish, later requests load them anew.
func (r *Registry) makeRoom(e *entry) error {
	if r.config.MemoryBytes == 0 {
		return nil
	}
	size, err := r.config.Size(e.name)
	if err != nil {
		return err
	}
	if size > r.config.MemoryBytes {
		return &MemoryError{Model: e.name, Need: size, Have: r.config.MemoryBytes}
	}
	for {
		r.mu.Lock()
		var doomed []*entry
		if r.loading[0] == e {
			if r.used+size <= r.config.MemoryBytes {
				r.used += size
				e.size = size
				r.mu.Unlock()
				return nil
			}
			doomed = r.doomOldest(r.used + size - r.config.MemoryBytes)
		}
		changed := r.changed
		r.mu.Unlock()
		for _, d := range doomed {
			r.mu.Lock()
			_ = r.closeIfDone(d)
		}
		if len(doomed) == 0 {
			<-changed
		}
	}
}

// doomOldest takes models out, those used longest ago first and those in use last, until they free so many bytes
// together with those that have been taken out already. The lock is held.
func (r *Registry) doomOldest(bytes int64) []*entry {
	var loaded []*entry
	staying := int64(0)
	for _, e := range r.models {
		if e.isReady() && e.err == nil {
			loaded = append(loaded, e)
		}
		staying += e.size
	}
	bytes -= r.used - staying // what the doomed will free
	slices.SortFunc(loaded, func(a, b *entry) int {
		if (a.count == 0) != (b.count == 0) {
			return a.count - b.count
		}
		return a.last - b.last
	})
	var doomed []*entry
	for _, e := range loaded {
		if bytes <= 0 {
			break
		}
		bytes -= e.size
		r.doom(e)
		doomed = append(doomed, e)
	}
	return doomed
}

// notify wakes those who wait for memory. The lock is held.
func (r *Registry) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
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
	slices.SortFunc(infos, func(a, b ModelInfo) int { return strings.Compare(a.Name, b.Name) })
	return infos
}

// Known describes a model that is loaded, or has been.
func (r *Registry) Known(name string) (ModelInfo, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, ok := r.known[name]
	return info, ok
}

// Unload takes the named model out; it's closed when its last user lets go of it.
func (r *Registry) Unload(name string) error {
	r.mu.Lock()
	e := r.models[name]
	if e == nil {
		r.mu.Unlock()
		return nil
	}
	r.doom(e)
	return r.closeIfDone(e)
}

// Close unloads every model and refuses later callers.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.closed = true
	names := make([]string, 0, len(r.models))
	for name := range r.models {
		names = append(names, name)
	}
	r.mu.Unlock()
	var errs []error
	for _, name := range names {
		errs = append(errs, r.Unload(name))
	}
	return errors.Join(errs...)
}

// doom takes a model out, to be closed once nobody uses it. The lock is held.
func (r *Registry) doom(e *entry) {
	delete(r.models, e.name)
	e.doomed = true
}

// closeIfDone closes a doomed model that nobody uses, and gives back the lock that the caller took.
func (r *Registry) closeIfDone(e *entry) error {
	if !e.doomed || e.count > 0 || !e.isReady() || e.err != nil {
		r.mu.Unlock()
		return nil
	}
	e.doomed = false // this is the one time
	onClose := r.onClose
	r.mu.Unlock()
	if onClose != nil {
		onClose(e.model)
	}
	err := e.model.Close()
	r.mu.Lock()
	r.used -= e.size
	r.notify()
	r.mu.Unlock()
	return err
}

// release ends one use. A model that nobody uses any more stays for a while, if there is a limit to that.
func (r *Registry) release(e *entry) {
	r.mu.Lock()
	e.count--
	if use := e.last; e.count == 0 && !e.doomed && r.config.KeepAlive > 0 {
		time.AfterFunc(r.config.KeepAlive, func() { r.unloadUnused(e, use) })
	}
	_ = r.closeIfDone(e) // the error of a Close is for who unloads
}

// unloadUnused unloads a model if it has not been used since.
func (r *Registry) unloadUnused(e *entry, last int) {
	r.mu.Lock()
	if r.models[e.name] != e || e.count > 0 || e.last != last || !e.isReady() {
		r.mu.Unlock()
		return
	}
	r.doom(e)
	_ = r.closeIfDone(e)
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
