package server

import (
	"context"
	"errors"
	"fmt"
	"math"

	"hark/batcher"
	"hark/engine"
)

// queue returns the named model with its batcher, loading it first if need be.
func (t *Transcriber) queue(ctx context.Context, name string) (*modelQueue, error) {
	if q, err := t.existing(name); q != nil || err != nil {
		return q, err
	}
	ref, err := t.models.Acquire(ctx, name)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.queues[name]; q != nil || t.closed { // another request was quicker
		ref.Release()
		if t.closed {
			return nil, batcher.ErrClosed
		}
		return q, nil
	}
	model := ref.Model()
	info := model.Info()
	cfg := t.cfg.Scheduling
	cfg.MaxBatch, cfg.CostCapMillis, cfg.Device = info.MaxBatch, info.BudgetMillis, t.device
	if t.cfg.Observer != nil {
		cfg.Observer = t.cfg.Observer(info)
	}
	if err := cfg.Validate(); err != nil {
		ref.Release()
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	q := &modelQueue{ref: ref, batcher: batcher.New[engine.Window](unholder{model}, cfg)}
	t.queues[name] = q
	return q, nil
}

func (t *Transcriber) existing(name string) (*modelQueue, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, batcher.ErrClosed
	}
	return t.queues[name], nil
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
	job, err := q.ref.Model().NewJob(samples, []engine.Span{{End: len(samples)}}, engine.Options{})
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
	queues := make(map[string]batcher.Queue, len(t.queues))
	for name, q := range t.queues {
		queues[name] = q.batcher.Queue()
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

// Close admits no more, lets what is under way finish until ctx ends, then gives the models back to the registry. It returns
// ctx's error if something had to be cut off.
func (t *Transcriber) Close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	queues := t.queues
	t.queues = nil
	t.mu.Unlock()
	var errs []error
	for _, q := range queues {
		errs = append(errs, q.batcher.Close(ctx))
		q.ref.Release()
	}
	return errors.Join(errs...)
}
