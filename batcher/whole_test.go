package batcher

import (
	"context"
	"fmt"
)

// wholeRunner runs a batch to its end before it says anything: nil if all went well, or one error a window.
type wholeRunner interface {
	Run(ctx context.Context, batch []string) []error
}

// whole makes a Runner of a wholeRunner.
type whole struct{ runner wholeRunner }

func (r whole) Run(ctx context.Context, batch []string, _ func(int) []string, done func(string, error)) {
	errs := r.runner.Run(ctx, batch)
	switch len(errs) {
	case len(batch):
	case 0:
		errs = make([]error, len(batch))
	default:
		errs = allFailed(len(batch), fmt.Errorf("fake: %d results for %d windows", len(errs), len(batch)))
	}
	for i, w := range batch {
		done(w, errs[i])
	}
}
