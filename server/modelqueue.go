package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"hark/batcher"
	"hark/engine"
)

// modelQueue is a use of a model, and the batcher before it. Release it.
type modelQueue struct {
	*engine.Ref
	batcher *batcher.Batcher[engine.Window]
}

// queue returns a use of the named model with its batcher, loading it first if need be.
func (t *Transcriber) queue(ctx context.Context, name string) (*modelQueue, error) {
	ref, err := t.models.Acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	b, err := t.batcherOf(ref.Model())
	if err != nil {
		ref.Release()
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	return &modelQueue{ref, b}, nil
}

// batcherOf returns the batcher of a model in use, making it for its first user.
func (t *Transcriber) batcherOf(model engine.Model) (*batcher.Batcher[engine.Window], error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, batcher.ErrClosed
	}
	if b := t.batchers[model]; b != nil {
		return b, nil
	}
	info := model.Info()
	cfg := t.cfg.Scheduling
	cfg.MaxBatch, cfg.CostCapMillis, cfg.Device = info.MaxBatch, info.BudgetMillis, t.device
	if t.cfg.Observer != nil {
		cfg.Observer = t.cfg.Observer(info)
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if info.Device == "cpu" {
		t.onCPU.Store(true)
	}
	b := batcher.New[engine.Window](unholder{model}, cfg)
	t.batchers[model] = b
	return b, nil
}

// forget ends the batcher of a model that is about to be closed, since nobody uses it.
func (t *Transcriber) forget(model engine.Model) {
	t.mu.Lock()
	b := t.batchers[model]
	delete(t.batchers, model)
	t.mu.Unlock()
	if b != nil {
		_ = b.Close(context.Background()) // nothing is under way, so it can't take long or fail
	}
}

// loaded returns the batcher of the named model, or nil while it is not loaded.
func (t *Transcriber) loaded(name string) *batcher.Batcher[engine.Window] {
	t.mu.Lock()
	defer t.mu.Unlock()
	for model, b := range t.batchers {
		if model.Info().Name == name {
			return b
		}
	}
	return nil
}

// Warm loads a model and runs a second of sound through it, so that the first caller finds everything in place.
func (t *Transcriber) Warm(ctx context.Context, name string) error {
	q, err := t.queue(ctx, name)
	if err != nil {
		return err
	}
	samples := make([]float32, engine.SampleRate)
	for i := range samples {
		samples[i] = float32(0.1 * math.Sin(2*math.Pi*440*float64(i)/engine.SampleRate))
	}
	defer q.Release()
	job, err := q.Model().NewJob(samples, []engine.Span{{End: len(samples)}}, engine.Options{})
	if err != nil {
		return fmt.Errorf("warm %s: %w", name, err)
	}
	_, err = q.batcher.Do(ctx, batcher.Request[engine.Window]{Lane: batcher.Clips, CostMillis: 1000, Work: job})
	if err != nil {
		return fmt.Errorf("warm %s: %w", name, err)
	}
	return nil
}

// Queues returns a snapshot of every model's batcher, by the model's name.
func (t *Transcriber) Queues() map[string]batcher.Queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	queues := make(map[string]batcher.Queue, len(t.batchers))
	for model, b := range t.batchers {
		queues[model.Info().Name] = b.Queue()
	}
	return queues
}

// Lost returns why a model's device can't be used any more, or nil while all is well.
func (t *Transcriber) Lost() error {
	if err := t.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// Close admits no more and lets what is under way finish until ctx ends. It returns
// ctx's error if something had to be cut off.
func (t *Transcriber) Close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	batchers := slices.Collect(maps.Values(t.batchers))
	t.mu.Unlock()
	var errs []error
	for _, b := range batchers {
		errs = append(errs, b.Close(ctx))
	}
	return errors.Join(errs...)
}
