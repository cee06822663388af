package server

import (
	"context"
	"errors"
	"fmt"

	"hark/audioprep"
	"hark/batcher"
	"hark/engine"
)

// A request whose caller is gone leaves its batch at the next step, after its call has returned: until then its windows
// are looked at. Samples in a mapped file go away with their PCM, so each window holds on to it.

// heldWindow is a window, the samples that it lies in and who is to know when it has ended.
type heldWindow struct {
	engine.Window
	audio *audioprep.PCM
	ended func(w engine.Window, err error)
}

// unholder runs a model, which knows its own windows only.
type unholder struct{ model engine.Model }

// Run implements batcher.Runner.
func (u unholder) Run(ctx context.Context, batch []engine.Window, more func(free int) []engine.Window,
	done func(engine.Window, error)) {
	held := map[engine.Window]engine.Window{}
	bare := func(windows []engine.Window) []engine.Window {
		out := make([]engine.Window, len(windows))
		for i, w := range windows {
			out[i] = w
			if h, ok := w.(*heldWindow); ok {
				out[i] = h.Window
			}
			held[out[i]] = w
		}
		return out
	}
	bareMore := more
	if more != nil {
		bareMore = func(free int) []engine.Window { return bare(more(free)) }
	}
	u.model.Run(ctx, bare(batch), bareMore, func(w engine.Window, err error) {
		h := held[w]
		delete(held, w)
		if errors.Is(err, engine.ErrDeviceLost) {
			err = fmt.Errorf("%w: %w", batcher.ErrFatal, err) // no later batch can succeed
		}
		if errors.Is(err, engine.ErrUnfinished) {
			done(h, batcher.ErrUnfinished)
			return
		}
		if own, ok := h.(*heldWindow); ok {
			own.ended(w, err)
		}
		done(h, err)
	})
}
