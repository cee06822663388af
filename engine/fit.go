package engine

import (
	"context"
	"errors"
	"slices"
)

// RunFitting is [Model.Run] for a model whose batches may be more than its device has room for. run runs a
// batch as Run does; the windows that it ends with [ErrOutOfMemory] it must be able to run again. They are,
// half as many at once, and half of these, until they fit; one that was alone and did not fit fails with that
// error. Windows join at the first try only.
func RunFitting(
	ctx context.Context,
	run func(ctx context.Context, batch []Window, more func(free int) []Window, done func(w Window, err error)),
	batch []Window, more func(free int) []Window, done func(w Window, err error),
) {
	windows := len(batch)
	joining := more
	if more != nil {
		joining = func(free int) []Window {
			joined := more(free)
			windows += len(joined)
			return joined
		}
	}
	var left []Window
	var failure error
	run(ctx, batch, joining, func(w Window, err error) {
		if !errors.Is(err, ErrOutOfMemory) {
			done(w, err)
			return
		}
		left, failure = append(left, w), err
	})
	if windows == 1 && len(left) == 1 {
		done(left[0], failure)
		return
	}
	for half := range slices.Chunk(left, max(1, (len(left)+1)/2)) {
		RunFitting(ctx, run, half, nil, done)
	}
}
